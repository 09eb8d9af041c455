"""Rewrites that stay within a dialect: one pass per file, named as its flag."""
