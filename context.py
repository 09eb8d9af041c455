"""An xDSL context in which every stage of the compiler parses."""

from __future__ import annotations

from xdsl.context import Context

from .glow_dialects.hex_floats import read_hex_floats
from .glow_dialects.string_literals import read_string_literals
from .glow_dialects.verified_kinds import remember_verified_kinds
from .universe import multiverse


def make_context() -> Context:
    """
    Returns a context with xDSL's and our dialects.

    `llvm` is xDSL's dialect extended by the operations of upstream MLIR that it lacks.
    """
    read_hex_floats()
    read_string_literals()
    remember_verified_kinds()
    context = Context()
    dialects = {**multiverse().all_dialects, "llvm": _extended_llvm}
    for name, factory in dialects.items():
        context.register_dialect(name, factory)
    return context


def _extended_llvm():
    # a context loads a dialect when it meets its name
    from .glow_dialects.llvm_extended import EXTENDED_LLVM

    return EXTENDED_LLVM
