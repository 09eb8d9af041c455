"""
The `glow_nest` dialect: kernels as perfect loop nests over memory, and how these are computed.
"""
