"""Compiled models of every form: one program, several, and programs with states between calls."""
