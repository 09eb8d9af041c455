"""Graphs divided between devices: the pass, its strategies, the verifier, and the inverse pass."""
