"""
Converts nodes to 16-bit floats where a backend supports them.

A node of f32 whose operators the backend claims on the narrow type reads and writes that type.
Where wide and narrow values meet there is a cast; between two narrow nodes there is none, because
widening and narrowing again gives the same number. Operators compute in f32 and round once, so the
conversion saves memory. The types of arguments and results of the function stay.

Constants of converted nodes become narrow. Numbers beyond the range of the type, if they are
finite, become the largest of it, with a warning that names the constants, or are an error.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...errors import CompileError
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.logic import CastOp
from ...glow_dialects.glow.machine import machine_of
from ...glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from ...glow_dialects.operator import Call, element_of, shape_of, with_shape
from ...glow_dialects.python_values import to_python
from ...interface.backend import Backend, find_backend
from ...semantics.arrays import (
    constant_of,
    constant_reader,
    largest_finite,
    lazy_constant,
    numpy_dtype,
)
from ..levels import GRAPH
from ..visited_operation import each
from .rewriting import (
    erase_if_dead,
    failure,
    insert_after_definition,
    is_constant,
    tensor_nodes,
)
from .value_keys import value_keys

ELEMENTS = {"f16": f16, "bf16": bf16}
OVERFLOWS = ("saturate", "refuse")
_STAY = (CastOp, QuantizeOp, DequantizeOp, ConstantOp, SplatOp)
"""Nodes whose types are their meaning, and constants, which take the type of their readers."""
_LISTED = 10


@dataclass(frozen=True)
class ConvertToPass(ModulePass):
    """Computes nodes of f32 in 16-bit floats where the backend supports that."""

    name = "glow-convert-to"
    level = GRAPH

    element: str = "f16"
    """`f16` or `bf16`."""
    keep: tuple[str, ...] = ()
    """Names of values, or operators such as `softmax`, that stay in f32."""
    wide: tuple[str, ...] = ()
    """
    The names of values beyond the range of the type. The operators that make or read them stay in
    f32.
    """
    overflow: str = "saturate"
    """
    The treatment of constants beyond the range: `saturate` with a warning, or `refuse` with an
    error.
    """
    backend: str = "cpu"
    """The backend whose claims decide."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.element not in ELEMENTS:
            raise CompileError(
                f"expected an element of {', '.join(ELEMENTS)}, found {self.element!r}"
            )
        if self.overflow not in OVERFLOWS:
            raise CompileError(
                f"expected overflow to be {' or '.join(OVERFLOWS)}, found {self.overflow!r}"
            )
        nodes = list(tensor_nodes(op))
        names = {node: _names(node) for node in each(nodes)}
        values: dict[str, SSAValue] = {}
        for function in each(op.ops):
            if isinstance(function, FuncOp) and len(function.body.blocks) == 1:
                values |= {key.name: value for value, key in value_keys(function).items()}
        for name, value in values.items():
            names.get(value.owner, set()).add(name)  # pyright: ignore
        self._expect_known(set().union(values, *names.values()))
        wide = {values[name] for name in self.wide if name in values}
        backend = find_backend(self.backend).on(machine_of(op))
        conversion = _Conversion(ELEMENTS[self.element], backend)
        for node in each(nodes):
            stays = not wide.isdisjoint((*node.operands, *node.results))
            if not stays and names[node].isdisjoint(self.keep):
                conversion.convert(node)
        self._tell(conversion.beyond)
        conversion.finish()

    def _expect_known(self, known: set[str]) -> None:
        if unknown := [name for name in (*self.keep, *self.wide) if name not in known]:
            raise CompileError(
                f"cannot keep {', '.join(unknown)} in f32: no value and no operator of the network "
                "is called so"
            )

    def _tell(self, beyond: dict[str, float]) -> None:
        """Warns of constants beyond the range, or raises CompileError."""
        if not beyond:
            return
        listed = ", ".join(
            f"{name} ({number:.6g})" for name, number in list(beyond.items())[:_LISTED]
        )
        more = f" and {len(beyond) - _LISTED} more" if len(beyond) > _LISTED else ""
        text = f"constants with numbers beyond the range of {self.element}: {listed}{more}"
        if self.overflow == "refuse":
            raise CompileError(
                f"{text}; keep what reads them in f32 (keep=...), or saturate (overflow=saturate)"
            )
        warnings.warn(f"{text}; they are the largest number of the type now", stacklevel=3)


class _Conversion:
    """The conversion of one module."""

    def __init__(self, element: Attribute, backend: Backend):
        self.element = element
        self.backend = backend
        self.narrow: dict[SSAValue, SSAValue] = {}
        """The narrow value for a wide one."""
        self.widened: list[CastOp] = []
        self.beyond: dict[str, float] = {}
        """The number of the largest magnitude in constants beyond the range, by name."""

    def convert(self, node: Node) -> None:
        """Computes a node in the narrow type, if the backend does."""
        if isinstance(node, _STAY):
            return
        if not any(element_of(r.type) == f32 for r in node.results):
            return
        call = node.call
        operands = tuple(self._narrowed(t) for t in call.operands)
        results = tuple(self._narrowed(t) for t in call.results)
        properties = dict(node.properties)
        narrow = Call(type(node), operands, results, properties)
        if not self.backend.supports(narrow) or not _verifies(narrow):
            return
        block = node.parent
        assert block is not None
        new = type(node).create(
            operands=[self._operand(v) for v in node.operands],
            result_types=results,
            properties=properties,
            attributes=node.attributes,
        )
        new.location = node.location
        block.insert_op_before(new, node)
        for old, result in zip(node.results, new.results, strict=True):
            result.name_hint = old.name_hint
            if element_of(old.type) != f32:
                old.replace_all_uses_with(result)
                continue
            back = CastOp.of(result, result_types=[old.type])
            back.result.name_hint = old.name_hint
            block.insert_op_before(back, node)
            old.replace_all_uses_with(back.result)
            self.narrow[back.result] = result
            self.widened.append(back)
        operands = list(node.operands)
        node.detach()
        node.erase()
        erase_if_dead([v for v in operands if v in self.narrow and is_constant(v)])

    def finish(self) -> None:
        """Removes casts that nothing reads."""
        for cast in self.widened:
            if not cast.result.uses:
                cast.detach()
                cast.erase()

    def _narrowed(self, t: Attribute) -> Attribute:
        return with_shape(self.element, shape_of(t)) if element_of(t) == f32 else t

    def _operand(self, value: SSAValue) -> SSAValue:
        """Returns the narrow value of an operand, made where the wide one is."""
        if element_of(value.type) != f32:
            return value
        if value not in self.narrow:
            new = self._narrow_constant(value)
            if new is None:
                new = CastOp.of(value, result_types=[self._narrowed(value.type)])
            new.results[0].name_hint = value.name_hint
            insert_after_definition(new, value)
            self.narrow[value] = new.results[0]
        return self.narrow[value]

    def _narrow_constant(self, value: SSAValue) -> Node | None:
        """Returns a constant in the narrow type; None if the value is not constant."""
        owner = value.owner
        t = self._narrowed(value.type)
        if isinstance(owner, SplatOp):
            number = np.array(float(to_python(owner.value)), np.float32)
            saturated = float(self._saturated(number, value).astype(np.float64))
            return SplatOp.of(value=saturated, result_types=[t])
        if not isinstance(owner, ConstantOp):
            return None
        try:
            array, read = constant_of(value), constant_reader(value)
        except (OSError, ValueError) as error:
            raise failure(owner, f"cannot read a constant: {error}") from error
        assert array is not None
        assert read is not None
        self._saturated(array, value)
        element = self.element
        return lazy_constant(
            *(shape_of(t), element, value.name_hint or "weights"),
            lambda: saturated_to(read(), element),
        )

    def _saturated(self, array: np.ndarray, value: SSAValue) -> np.ndarray:
        """
        Returns the array as `saturated_to` converts it. Records the name if numbers are beyond the
        range.
        """
        finite = array[np.isfinite(array)]
        largest = finite[np.abs(finite).argmax()] if finite.size else np.float32(0)
        if abs(float(largest)) > largest_finite(self.element):
            self.beyond[value.name_hint or "a constant without a name"] = float(largest)
        return saturated_to(array, self.element)


def _verifies(call: Call) -> bool:
    """Returns whether an operator takes these types; a backend that supports it takes them all."""
    node = call.operator.create(
        operands=Block(arg_types=call.operands).args,
        result_types=call.results,
        properties=call.properties,
    )
    try:
        node.verify()
    except VerifyException:
        return False
    return True


def _names(node: Node) -> set[str]:
    """Returns the name of a node in `keep`."""
    hints = {r.name_hint for r in node.results if r.name_hint}
    return {node.name, node.name.removeprefix("glow."), *hints}


def saturated_to(array: np.ndarray, element: Attribute) -> np.ndarray:
    """
    Returns f32 numbers as 16-bit floats: finite ones become at most the largest; infinity and NaN
    stay.
    """
    greatest = np.float32(largest_finite(element))
    bounded = np.where(np.isfinite(array), np.clip(array, -greatest, greatest), array)
    return bounded.astype(numpy_dtype(element))
