"""The errors of converters about missing features."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import SSAValue


class Unsupported(Exception):
    """Something valid that has no counterpart in the graph dialect. The importer collects these."""


class NotConstant(Unsupported):
    """A value that has to be known, and that follows from inputs of the model alone."""

    def __init__(self, message: str, inputs: Collection[SSAValue]):
        super().__init__(message)
        self.inputs = inputs


class Computed(Unsupported):
    """A value that has to be known, and that the model computes."""


class SeparateSteps(Computed):
    """A Loop whose steps differ, or are without bound: each step is a run of a program."""


class SizeNeeded(Exception):
    """A node that needs the size of a dimension which data decides."""

    def __init__(self) -> None:
        super().__init__("it needs the size of a dimension that data decides")


class Reported(Unsupported):
    """Something that depends on what was noted before."""


class MissingOperator(Unsupported):
    """An operator without a converter, for any inputs and attributes."""


def some(items: list[str], limit: int = 20) -> str:
    """Returns `a, b, c` or, if there are more than `limit`, `a, b, c and 7 more`."""
    if len(items) <= limit:
        return ", ".join(items)
    return f"{', '.join(items[:limit])} and {len(items) - limit} more"
