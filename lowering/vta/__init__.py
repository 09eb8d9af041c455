"""
The lowering of networks to programs of the `vta` dialect, and of programs to the words that the
machine executes and back.

- `prepare`: a graph of integers as VTA computes it;
- `lower`: instructions on buffers to a program. `network` makes layers of instructions, `scratch`
  places the tensors between them, `tiling` and `emit` make instructions for VTA of each layer, and
  `stream` adds the tokens;
- `encode`: the dialect to instructions of 128 bits and micro-ops;
- `decode`: words to the dialect;
- `asm`: the dialect as text, one line per instruction.
"""
