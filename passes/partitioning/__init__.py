"""
Splits a graph over devices: what the devices are, what moves together, who computes what, and the
functions that result.
"""
