"""Model formats to the graph dialect. ONNX is `glow.frontend.onnx`."""
