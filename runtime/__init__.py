"""Running compiled programs: machine code, caches, memory, and the numpy interpreter."""
