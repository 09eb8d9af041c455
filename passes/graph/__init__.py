"""
Rewrites of graphs: one pass per file, named as its flag, and folders with the parts of larger
passes.
"""
