"""The kinds of kernel schedule, and the cost model that chooses one for each nest."""
