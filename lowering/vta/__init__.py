"""
Programs of the `vta` dialect as the words that the machine executes, and back.

- `encode`: the dialect to instructions of 128 bits and micro-ops.
- `decode`: words to the dialect.
- `asm`: the dialect as text, one line per instruction.
"""
