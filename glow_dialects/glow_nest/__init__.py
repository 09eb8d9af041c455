"""Loop nests: what kernels compute."""
