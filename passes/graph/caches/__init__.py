"""Caches of keys and values that a program keeps in memory of a fixed size."""
