"""A backend of glow for an imaginary vector machine. `docs/backends.md` of glow explains it."""
