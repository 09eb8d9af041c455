"""IR definitions only. Nothing here imports numpy, onnx or llvmlite, so tools start fast."""
