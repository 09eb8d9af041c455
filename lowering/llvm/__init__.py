"""
The lowering of structured kernels (`func`, `scf`, `arith`, `math`, `vector`, `memref`, `glow_vec`)
to LLVM IR.

- `convert`: one walk that rewrites a module into the `llvm` dialect. Conversions are registered per
  operation in `function`, and live in one file per source dialect.
- `translate`: the `llvm` dialect as the text of LLVM IR.
"""
