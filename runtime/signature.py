"""The signature of a network, read from its function @main."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    TensorType,
)
from xdsl.dialects.func import FuncOp

from ..errors import ModelError
from ..glow_dialects.dims import is_symbolic
from ..glow_dialects.glow_inst.memory import NAME, QUALIFIER, RESULT, STATE
from ..glow_dialects.interface_attributes import RANDOM_STATE, RANGES, STEPS, USED
from ..glow_dialects.operator import shape_of, text_of, to_python
from ..interface.index_range import IndexRange
from ..interface.signature import Count, Signature, TensorInfo
from ..interface.symbols import DerivedSize
from ..semantics.arrays import interface_dtype

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute


def main_function(module: ModuleOp) -> FuncOp:
    """Returns the function @main of a module. Raises ModelError if there is none."""
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main":
            return op
    raise ModelError("expected a module with a function @main")


def is_symbolic_graph(module: ModuleOp) -> bool:
    """Returns whether an argument of the function @main has sizes that depend on symbols."""
    functions = (op for op in module.body.block.ops if isinstance(op, FuncOp))
    types = (t for f in functions if f.sym_name.data == "main" for t in f.function_type.inputs)
    return any(map(is_symbolic, types))


def signature_of(module: ModuleOp) -> Signature:
    """
    Returns the signature of the function @main, over tensors or, of an instruction program, over
    buffers. Raises ModelError if the module has none.
    """
    main = main_function(module)
    if is_program(main):
        return _signature_of_program(main)
    types = main.function_type
    return Signature(
        _infos(types.inputs.data, main.arg_attrs, "input"),
        _infos(types.outputs.data, main.res_attrs, "output"),
    )


def is_program(main: FuncOp) -> bool:
    """Returns whether a function has buffers as arguments, instead of tensors."""
    return any(isinstance(t, MemRefType) for t in main.function_type.inputs)


def _signature_of_program(main: FuncOp) -> Signature:
    """
    Returns the signature of an instruction program, whose arguments are qualified as inputs,
    outputs, and states, which are both.
    """

    def infos(qualifiers: Sequence[str], kind: str) -> tuple[TensorInfo, ...]:
        attributes = main.arg_attrs.data if main.arg_attrs is not None else ()
        chosen = [
            (TensorType(t.element_type, t.get_shape()), about)
            for t, about in zip(main.function_type.inputs, attributes, strict=False)
            if isinstance(t, MemRefType) and text_of(about.data.get(QUALIFIER)) in qualifiers
        ]
        return _infos([t for t, _ in chosen], ArrayAttr(about for _, about in chosen), kind)

    inputs, outputs = infos(("in", "inout"), "input"), list(infos(("out",), "output"))
    for info in sorted((i for i in inputs if i.state is not None), key=lambda i: i.state or 0):
        kept = replace(info, name=_result_name(main, info), state=None, ranges=())
        outputs.insert(info.state or 0, kept)
    return Signature(inputs, tuple(outputs))


def _result_name(main: FuncOp, info: TensorInfo) -> str:
    """Returns the name of the output that is the next value of a state."""
    attributes = main.arg_attrs.data if main.arg_attrs is not None else ()
    for about in attributes:
        if _number(about.data.get(STATE)) == info.state:
            return text_of(about.data.get(RESULT)) or f"output_{info.state}"
    return f"output_{info.state}"


def _number(attribute: Attribute | None) -> int | None:
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def index_ranges(attribute: Attribute | None) -> tuple[IndexRange, ...]:
    """Returns the ranges of indices that an attribute of an argument states."""
    if not isinstance(attribute, ArrayAttr):
        return ()
    found: list[IndexRange] = []
    for each in attribute.data:
        assert isinstance(each, DictionaryAttr)
        low, high = (each.data[name] for name in ("low", "high"))
        assert isinstance(low, DenseArrayBase)
        assert isinstance(high, DenseArrayBase)
        first, last = (tuple(int(v) for v in b.get_values()) for b in (low, high))
        total = to_python(each.data["total"]) if "total" in each.data else None
        user = text_of(each.data["user"]) or ""
        what = text_of(each.data.get("what")) or IndexRange.what
        found.append(IndexRange(first, last, user, total, "ascending" in each.data, what))
    return tuple(found)


def _infos(
    types: Sequence[Attribute], attributes: ArrayAttr[DictionaryAttr] | None, kind: str
) -> tuple[TensorInfo, ...]:
    named = [a.data for a in attributes.data] if attributes is not None else [{}] * len(types)
    infos: list[TensorInfo] = []
    for i, (t, about) in enumerate(zip(types, named, strict=True)):
        if not isinstance(t, TensorType):
            raise ModelError(f"expected a tensor as {kind} {i} of @main, found {t}")
        if not t.has_static_shape() and not is_symbolic(t):
            raise ModelError(
                f"expected a static shape of {kind} {i} of @main, or one with symbols, found {t}"
            )
        name = text_of(about.get(NAME))
        text = f"{kind}_{i}" if name is None else name
        ranges = index_ranges(about.get(RANGES))
        shape = [DerivedSize.of(size) for size in shape_of(t)]
        count = _count(about.get(USED))
        dtype = interface_dtype(t.element_type)
        state, limit = _number(about.get(STATE)), text_of(about.get(STEPS))
        random = RANDOM_STATE in about
        infos.append(TensorInfo(text, shape, dtype, ranges, count, random, state, limit))
    return tuple(infos)


def _count(attribute: Attribute | None) -> Count | None:
    if not isinstance(attribute, DictionaryAttr):
        return None
    axis, output = (attribute.data[name] for name in ("axis", "output"))
    assert isinstance(axis, IntegerAttr)
    assert isinstance(output, IntegerAttr)
    return Count(axis.value.data, output.value.data)
