"""
Architectures as users export them: networks of PyTorch and of the package transformers, with seeded
random weights, as ONNX files (`export`), and their comparison with onnxruntime (`check`).

`export` needs the extra `exports`; `check` reads the files, and needs onnxruntime only.
"""
