"""`glow-opt -t onnx`: a graph as an ONNX model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from . import export_onnx


@dataclass(frozen=True)
class OnnxTarget(Target):
    """Writes the graph of `@main` as a serialized ONNX model."""

    name = "glow-onnx"
    writes_bytes: ClassVar = True
    """Each character stands for the byte of that number."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(export_onnx(module).SerializeToString().decode("latin-1"))
