"""Conversions between dialects: graph to instructions to kernels to LLVM."""
