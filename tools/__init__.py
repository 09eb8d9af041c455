"""Command lines: `glow-opt` for the compiler's passes and `glow-run` for running models."""
