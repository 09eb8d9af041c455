"""Rewrites of instruction programs: one pass per file, named as its flag."""
