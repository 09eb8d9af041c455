"""Running compiled programs: machine code, caches, the memory of a run, and the numpy interpreter."""
