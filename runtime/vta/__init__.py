"""Programs for VTA: their container, a simulator of the machine, and estimates of time."""
