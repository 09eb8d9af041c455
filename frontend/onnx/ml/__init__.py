"""The parts of models of the domain ai.onnx.ml, without what they become."""
