"""
The lowering of instructions to kernels: functions over memrefs in upstream's structured dialects.

A kernel's algorithm is separate from its schedule. `algorithms` has one algorithm for each
family of operators, written as loop nests over strided views. `schedules` chooses vectors, tiles
and the order of loops from a machine description, `threads` divides the work, and `codegen` emits
the control flow.
"""
