"""Recurrent layers, whose cells after each step ONNX cannot give."""

from __future__ import annotations

from ....glow_dialects.glow.recurrent import GruOp, LstmOp, Recurrent, RnnOp
from ..problems import Unsupported
from .writer import Writer, exporter


@exporter(LstmOp, GruOp, RnnOp)
def recurrent(writer: Writer, node: Recurrent) -> str:
    raise Unsupported("the states of a recurrent layer after each step")
