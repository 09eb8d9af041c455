"""The values that the nodes of a graph or function see."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import TensorProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ...glow_dialects.value_names import value_name
from .builder import GraphBuilder
from .weights import WeightReader

Types = Mapping[str, TensorType]


class Scope:
    """
    The values of a graph or function by name; None if there is not even a stand-in. Initializers
    become constants when they are first used.
    """

    def __init__(
        self,
        builder: GraphBuilder,
        weights: WeightReader,
        declared: Types,
        outer: Scope | None = None,
    ):
        self.values: dict[str, SSAValue | None] = {}
        self.initializers: dict[str, TensorProto] = {}
        self.declared = declared
        """Types that the model states for its values."""
        self._builder = builder
        self._weights = weights
        self._outer = outer
        """That of the graph around a subgraph, which sees its values."""

    def find(self, name: str) -> SSAValue | None:
        """
        Returns the value called `name`.

        Raises KeyError if there is none, ModelError or Unsupported for a bad initializer.
        """
        if name not in self.values and name in self.initializers:
            self.values[name] = None  # should the next line raise
            node = self._weights.constant(self.initializers[name], f"initializer {name!r}")
            self.define(name, self._builder.initializer(node, name))
        if name not in self.values and self._outer is not None:
            return self._outer.find(name)
        return self.values[name]

    def holds_strings(self, value: SSAValue) -> bool:
        """Returns whether the elements of a value are numbers of strings."""
        return value in self._weights.strings

    def define(self, name: str, value: SSAValue | None) -> None:
        self.values[name] = value
        if value is not None and value.name_hint is None:
            value.name_hint = value_name(name)
