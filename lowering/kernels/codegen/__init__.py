"""Code generation: nests and schedules become scf, arith, vector and memref operations."""
