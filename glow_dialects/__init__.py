"""IR definitions only. Nothing here imports numpy, onnx or llvmlite, so tools start fast."""

from . import hex_floats as hex_floats
