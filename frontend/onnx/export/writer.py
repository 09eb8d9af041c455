"""The model that exporters write to, and the table of exporters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper
from xdsl.ir import Attribute, SSAValue

from ....glow_dialects.elements import storage_type
from ....glow_dialects.glow.base import Node
from ....glow_dialects.operator import element_of, shape_of
from ....semantics.arrays import interface_dtype, numpy_dtype
from ....table import Table
from ..element_types import ELEMENTS, onnx_code
from ..problems import Unsupported

N = TypeVar("N", bound=Node)
Exporter: TypeAlias = Callable[["Writer", N], "str | None"]
OPSET = 20
"""The opset of exported models, unless something in them needs a newer one."""
EXPORTERS: Table[type[Node], Exporter[Any]] = Table("an exporter")
"""
The exporters of operators. Each gets the writer and a node, appends ONNX nodes and returns the name
of the result. It raises Unsupported for nodes that ONNX cannot express.
"""


def exporter(*operators: type[N]) -> Callable[[Exporter[N]], Exporter[N]]:
    """Registers the function that writes some operators."""
    return EXPORTERS.entry(*operators)


class Writer:
    """The nodes and initializers of a model while it is written, and the names of values."""

    def __init__(self) -> None:
        self.opset = OPSET
        """The oldest opset that has all that was written so far, and no older than `OPSET`."""
        self.domains: set[str] = set()
        """Of operators beyond the default domain; all have version 1."""
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        self.names: dict[SSAValue, str] = {}
        self._used: set[str] = set()

    @contextmanager
    def subgraph(self) -> Iterator[list[NodeProto]]:
        """Collects the nodes that are written meanwhile, which are those of a subgraph."""
        outside, self.nodes = self.nodes, []
        yield self.nodes
        self.nodes = outside

    def fresh(self, hint: str) -> str:
        """Returns a name that no value has yet."""
        base = re.sub(r"[^\w./:-]", "_", hint) or "value"
        name, number = base, 1
        while name in self._used:
            name, number = f"{base}_{number}", number + 1
        self._used.add(name)
        return name

    def needs(self, opset: int) -> None:
        """Notes that the model contains a node that older opsets do not have."""
        self.opset = max(self.opset, opset)

    def name(self, value: SSAValue) -> str:
        return self.names[value]

    def inputs(self, node: Node) -> list[str]:
        return [self.names[operand] for operand in node.operands]

    def emit(self, operator: str, *inputs: str, hint: str = "", **attributes: Any) -> str:
        """
        Returns the result of a new ONNX node. Attributes that are None are left out; `domain` is
        that of the operator, if it is not the default one.
        """
        result = self.fresh(hint or operator.lower())
        given = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(operator, inputs, [result], f"{result}:op", **given))
        if "domain" in given:
            self.domains.add(given["domain"])
        return result

    def constant(self, array: np.ndarray, hint: str = "constant", code: int | None = None) -> str:
        """
        Returns an initializer; `code` is its element type if it does not follow from the dtype.
        """
        name = self.fresh(hint)
        if code is not None:
            array = array.astype(interface_dtype(ELEMENTS[code]), copy=False)
        self.initializers.append(numpy_helper.from_array(array.copy(), name))
        return name

    def ints(self, values: Sequence[int], hint: str = "shape") -> str:
        """Returns a list of integers as an initializer."""
        return self.constant(np.array(values, np.int64), hint)

    def number(self, value: float, like: Attribute, hint: str = "number") -> str:
        """Returns a scalar with the element type of `like`."""
        return self.constant(np.array(value).astype(numpy_dtype(element_of(like))), hint)

    def reshaped(self, name: str, shape: Sequence[int]) -> str:
        return self.emit("Reshape", name, self.ints(shape), allowzero=1 if 0 in shape else None)


def code_of(element: Attribute) -> int:
    """Returns the ONNX number of the stored elements. Raises Unsupported if there is none."""
    stored = storage_type(element)
    if stored not in ELEMENTS.values():
        raise Unsupported(f"elements of type {element}")
    return onnx_code(stored)


def rank(value: SSAValue) -> int:
    return len(shape_of(value.type))
