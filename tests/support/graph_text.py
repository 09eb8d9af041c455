"""Modules from text, and passes by name, for tests of passes."""

from __future__ import annotations

import re
from collections import Counter

from glow.context import make_context
from glow.passes.verify_dominance import verify_dominance
from glow.runtime.stages import parse_pipeline
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

CONTEXT = make_context()


def parse(text: str) -> ModuleOp:
    """Returns a verified module. Absent its own module operation, one is put around `text`."""
    module = Parser(CONTEXT, text).parse_module()
    module.verify()
    return module


def run(pipeline: str, module: ModuleOp) -> ModuleOp:
    """Applies passes in the syntax of `glow-opt -p` in place; check the result and return it."""
    for single in parse_pipeline(pipeline):
        single.apply(CONTEXT, module)
    module.verify()
    verify_dominance(module)
    return module


def count(module: ModuleOp) -> Counter[str]:
    """Returns how many operations of each name there are."""
    return Counter(op.name for op in module.walk())


def without_numbers(module: ModuleOp) -> str:
    """Returns a module as text, without the numbers of constants in memory."""
    return re.sub(r"(memory:[^\"]*)#\d+", r"\1", str(module))
