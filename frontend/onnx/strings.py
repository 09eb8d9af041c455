"""
Strings that a model contains, such as the labels of a classifier.

A program computes on numbers alone, so an import lists the strings of its model, and a tensor of
strings holds their numbers in that list. Strings can then be moved, chosen and compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np
from onnx.defs import OpSchema
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from .element_types import onnx_code, type_name


class Strings:
    """The strings of one model, in the order in which the import meets them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._values: set[SSAValue] = set()

    def numbers(self, texts: Iterable[str | bytes]) -> np.ndarray:
        """Returns the numbers of strings, i64, which are added to the list if need be."""
        found = (t.decode("utf-8", "replace") if isinstance(t, bytes) else t for t in texts)
        return np.array([self._numbers.setdefault(t, len(self._numbers)) for t in found], np.int64)

    def note(self, value: SSAValue) -> None:
        """Notes that the elements of a value are numbers of strings."""
        self._values.add(value)

    def __contains__(self, value: object) -> bool:
        """Returns whether the elements of a value are numbers of strings."""
        return value in self._values

    def onnx_type(self, value: SSAValue | None) -> str | None:
        """Returns the type of a tensor as ONNX writes it, `tensor(float)`; None if it is none."""
        if value is None or not isinstance(value.type, TensorType):
            return None
        name = "string" if value in self else type_name(onnx_code(value.type.element_type)).lower()
        return f"tensor({name})"

    def note_results(
        self,
        schema: OpSchema | None,
        inputs: Sequence[SSAValue | None],
        results: Sequence[SSAValue | None],
    ) -> None:
        """Notes the results of a node that have, by its definition, the type of a string input."""
        if schema is None or not any(v in self for v in inputs):
            return
        last = len(schema.inputs) - 1  # of which there may be any number
        types = {schema.inputs[min(i, last)].type_str for i, v in enumerate(inputs) if v in self}
        for formal, value in zip(schema.outputs, results, strict=False):
            if value is not None and formal.type_str in types:
                self.note(value)

    def warn_of(self, outputs: Sequence[tuple[str, SSAValue]]) -> None:
        """Warns of each output of the model, by name, that has numbers instead of strings."""
        for name, value in outputs:
            if value in self:
                warnings.warn(
                    f"output {name!r} has strings; the program gives their numbers, from 0 on, in "
                    f"{list(self._numbers)}",
                    stacklevel=2,
                )
