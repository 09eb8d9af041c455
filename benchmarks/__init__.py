"""
Benchmarks of compiled networks: beside other runtimes, layer by layer, and by stage of compilation.
Most modules are programs to run with `python -m`.
"""
