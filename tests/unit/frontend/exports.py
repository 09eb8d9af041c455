"""Graphs that are exported to ONNX."""

from __future__ import annotations

from glow.context import make_context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser


def parsed(text: str) -> ModuleOp:
    return Parser(make_context(), text).parse_module()
