"""Rewrites of graphs: one pass per file, named as its flag, and folders of what a pass needs."""
