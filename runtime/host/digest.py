"""A hash of the computation of a network: equal partitions are loaded once."""

from __future__ import annotations

import hashlib
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer

from ...glow_dialects.blob import BlobAttr, release_files


class _WithContents(Printer):
    """Prints a hash of the bytes that a reference means, instead of their place."""

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, BlobAttr):
            self.print_string(hashlib.sha256(attribute.data.read()).hexdigest())
            release_files()
        else:
            super().print_attribute(attribute)


def digest(module: ModuleOp) -> str:
    """
    Returns SHA-256 of a graph with its constants, regardless of how its values are called and where
    it is to run.

    Raises OSError or ValueError if the bytes of a constant cannot be read.
    """
    copy = module.clone()
    for op in copy.walk():
        _forget_names(op)
    for op in copy.ops:
        op.attributes.clear()
    text = StringIO()
    _WithContents(text).print_op(copy)
    return hashlib.sha256(text.getvalue().encode()).hexdigest()


def _forget_names(op: Operation) -> None:
    values = [*op.results, *(a for region in op.regions for b in region.blocks for a in b.args)]
    for value in values:
        value.name_hint = None
