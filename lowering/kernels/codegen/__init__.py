"""From nests and schedules to scf, arith, vector and memref operations."""
