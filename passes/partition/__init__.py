"""Graphs divided between devices: the pass, how it decides, and what checks and inlines it."""
