"""How nests are computed: the kinds of kernel schedule, and the cost model that chooses one."""
