"""Prints a file of measured schedules of the version of the compiler that is installed."""

import json
import sys
from importlib.metadata import version

key, schedule = sys.argv[1:]
machine = {
    "vector_bits": 256,
    "vector_registers": 16,
    "has_fma": True,
    "int8_dots": [],
    "byte_lookups": [],
    "has_bf16_dot": False,
    "has_int8_tiles": False,
    "has_bf16_tiles": False,
    "l1_bytes": 32768,
    "l2_bytes": 1048576,
    "l3_bytes": 4194304,
}
content = {
    "format": "glow schedules 2",
    "compiler": version("glow-compiler"),
    "machine": machine,
    "kernels": {key: {"name": "k_product", "nests": {"0": schedule}}},
}
print(json.dumps(content))
