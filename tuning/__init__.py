"""Finds schedules that are faster than those of the cost model, by measuring kernels."""
