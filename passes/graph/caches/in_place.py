"""
Caches of keys and values in place.

A decoder takes the keys and values of all tokens so far as inputs (`past`) and returns them with
those of new tokens behind them (`present`). `caches_in_place` makes a graph in which each pair is
one state of a fixed number of rows. The first rows are the past, as many as there are; the last
rows are the new ones, which the caller then moves to their places. What else depends on how many
rows the past has becomes an input:

- `glow.valid`, f32[rows]: 0 for each row with content, negative infinity for the others;
- `glow.rows.N`: constants that have a row for each new token, such as embeddings of positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
)
from xdsl.ir import Block, BlockArgument, SSAValue

from ....errors import UnsupportedError
from ....glow_dialects.glow.constant import ConstantOp
from ....glow_dialects.glow.shape import ConcatOp, SliceOp, TransposeOp
from ....glow_dialects.glow_inst.memory import NAME
from ....glow_dialects.operator import element_of, shape_of, text_of
from ....interface.cache_rows import Rows, axis_in_state
from ..rewriting import Build
from ..states import set_states
from .difference import Difference, elements, main_of, refuse
from .validity import RowMasks

VALID = "glow.valid"
ROWS = "glow.rows"


@dataclass(frozen=True)
class PositionRows:
    """An input of a program that has the rows of a table for the new tokens."""

    table: np.ndarray
    axis: int
    """The dimension with a row for each position from 0."""


@dataclass(frozen=True)
class CachedGraph:
    """A graph whose caches are states."""

    module: ModuleOp
    rows: Rows
    positions: Mapping[str, PositionRows]
    """Inputs that follow from the number of past rows."""


@dataclass(frozen=True)
class Imports:
    """The same network for several numbers of rows."""

    whole: ModuleOp
    """Whose caches have `rows.past` rows before the call. It becomes the result."""
    smaller: ModuleOp
    """Whose caches have one row less."""
    empty: ModuleOp
    """Whose caches have no row, and which has as many new rows as `whole` has rows after it."""


def caches_in_place(imports: Imports, rows: Rows, caches: Mapping[str, str]) -> CachedGraph:
    """
    Returns the graph whose inputs `caches` are states, with the outputs that are their next values.
    It changes `imports.whole`. Raises UnsupportedError, with the node, if rows without content, or
    the place of the new rows, could change a result.
    """
    difference = Difference(imports.whole, imports.smaller, rows)
    main, block = difference.main, difference.main.body.block
    pairs = _pairs(main, caches)
    for argument, concat in pairs.values():
        if concat.inputs[0] is not argument or difference.row_axis(concat.inputs[1]) is not None:
            raise refuse(concat, "expected the new rows behind the past ones")
    hidden = {concat.result for _, concat in pairs.values()}
    for value in _return(main).operands:
        if value not in hidden and difference.row_axis(value) is not None:
            raise UnsupportedError(
                "the caches cannot be updated in place: another output has their rows"
            )
    constants, places = _tables(difference, imports.empty)
    tables = [*constants, *(_sliced(op, axis, rows) for op, axis in difference.moved_slices())]
    valid = block.insert_arg(TensorType(f32, [rows.total]), len(block.args))
    RowMasks(difference, valid, places).run()
    positions: dict[str, PositionRows] = {}
    names = [VALID]
    for op, table in tables:
        names.append(f"{ROWS}.{len(positions)}")
        positions[names[-1]] = table
        argument = block.insert_arg(op.results[0].type, len(block.args))
        argument.name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(argument)
    kept = {name: _keep(pair, rows) for name, pair in pairs.items()}
    _finish(main, names, kept)
    return CachedGraph(imports.whole, rows, positions)


_Pair = tuple[BlockArgument, ConcatOp]


def _return(main: func.FuncOp) -> func.ReturnOp:
    last = main.body.block.last_op
    assert isinstance(last, func.ReturnOp)
    return last


def _pairs(main: func.FuncOp, caches: Mapping[str, str]) -> dict[str, _Pair]:
    """Returns each past with the node that makes its present."""
    block = main.body.block
    assert main.arg_attrs is not None
    assert main.res_attrs is not None
    inputs = {text_of(a.data[NAME]): b for a, b in zip(main.arg_attrs, block.args, strict=True)}
    results = _return(main).operands
    outputs = {text_of(a.data[NAME]): v for a, v in zip(main.res_attrs, results, strict=True)}
    found: dict[str, _Pair] = {}
    for past, present in caches.items():
        concat = outputs[present].owner
        if not isinstance(concat, ConcatOp) or len(concat.inputs) != 2:
            raise UnsupportedError(
                f"output {present!r} is not input {past!r} with new rows behind: expected a "
                f"concatenation of both, found {getattr(concat, 'name', 'an input')}"
            )
        found[past] = inputs[past], concat
    return found


def _tables(
    difference: Difference, empty: ModuleOp
) -> tuple[list[tuple[ConstantOp, PositionRows]], list[SSAValue]]:
    """
    Returns the constants that have rows of new tokens, with rows for all positions; and those that
    are places of rows. Raises UnsupportedError for constants that depend on the past otherwise.
    """
    differing = list(difference.differing())
    whole = _constants_of(empty, difference.rows.total)
    tables: list[tuple[ConstantOp, PositionRows]] = []
    places: list[SSAValue] = []
    for op, value, smaller in differing:
        if value.shape == smaller.shape:
            tables.append((op, _table(op, value, smaller, whole, difference.rows)))
            continue
        row = difference.row_axis(op.result)
        assert row is not None
        kept = difference.kept(value.shape[row.axis], row.has_new)
        part = np.take(value, kept, row.axis)
        if np.array_equal(part, smaller, equal_nan=True):
            continue
        if not _are_places(difference, part, smaller, row.has_new):
            raise refuse(op, "its value depends on the distance between new and past rows")
        places.append(op.result)
    return tables, places


def _constants_of(module: ModuleOp, size: int) -> list[np.ndarray]:
    """Returns the constants of a graph that have a dimension of a size."""
    return [
        elements(op)
        for op in main_of(module).body.block.ops
        if isinstance(op, ConstantOp) and size in shape_of(op.result.type)
    ]


def _are_places(
    difference: Difference, value: np.ndarray, smaller: np.ndarray, has_new: bool
) -> bool:
    """Returns whether numbers are places of rows, perhaps of several sequences in a row."""
    if value.dtype.kind != "i" or smaller.min() < 0:
        return False
    count = difference.rows.total if has_new else difference.rows.past
    several = int(smaller.max()) // (count - 1) + 1
    return np.array_equal(value, difference.kept(several * count, has_new)[smaller])


def _table(
    op: ConstantOp, value: np.ndarray, smaller: np.ndarray, whole: Sequence[np.ndarray], sizes: Rows
) -> PositionRows:
    """
    Returns all rows of a constant that has one for each new token. They are a constant of the graph
    for an empty past, which may have fewer dimensions of size 1 in front, since small constants
    are repeated ahead of time.
    """
    for axis, size in enumerate(value.shape):
        if size != sizes.new:
            continue
        shape = [sizes.total if i == axis else n for i, n in enumerate(value.shape)]
        for rows in whole:
            found = _repeated(rows, shape)
            if found is not None and all(
                np.allclose(_window(found, axis, start, sizes.new), wanted, 1e-6, 1e-6)
                for start, wanted in ((sizes.past, value), (sizes.past - 1, smaller))
            ):
                return PositionRows(found.astype(value.dtype, copy=False), axis)
    raise refuse(op, "its value depends on the number of rows, and is no row for each new token")


def _sliced(op: SliceOp, axis: int, rows: Rows) -> tuple[SliceOp, PositionRows]:
    """Returns all rows of a table of which a slice takes those of the new tokens."""
    table = op.input.owner
    if not isinstance(table, ConstantOp):
        raise refuse(op, "it takes rows of a table that is no constant")
    starts, sizes = list(op.call.ints("starts")), list(op.call.ints("sizes"))
    starts[axis], sizes[axis] = starts[axis] - rows.past, rows.total
    parts = tuple(slice(a, a + n) for a, n in zip(starts, sizes, strict=True))
    found = elements(table)[parts]
    if starts[axis] < 0 or found.shape[axis] != rows.total:
        raise refuse(op, f"it has no rows for {rows.total} positions")
    return op, PositionRows(found, axis)


def _repeated(array: np.ndarray, shape: Sequence[int]) -> np.ndarray | None:
    """Returns an array broadcast to a shape; None if that is impossible."""
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        return None


def _window(array: np.ndarray, axis: int, start: int, size: int) -> np.ndarray:
    return np.take(array, np.arange(start, start + size), axis)


def _keep(pair: _Pair, rows: Rows) -> SSAValue:
    """
    Lets a cache be a part of a state, whose rows are in dimension `axis_in_state`. Returns the next
    value of the state.
    """
    past, concat = pair
    axis, shape = concat.call.int("axis"), list(shape_of(past.type))
    place = axis_in_state(axis)
    order = [i for i in range(len(shape)) if i != axis]
    order.insert(place, axis)
    element = element_of(past.type)
    kept = [rows.total if i == axis else shape[i] for i in order]
    block = past.block
    assert isinstance(block, Block)
    state = block.insert_arg(TensorType(element, kept), past.index)
    state.name_hint = past.name_hint
    build = Build()
    sizes = [shape[i] for i in order]
    value = stored = build(SliceOp, state, sizes=sizes)
    back = [order.index(i) for i in range(len(order))]
    if place != axis:
        value = build(TransposeOp, stored, permutation=back)
    first, end = block.first_op, block.last_op
    assert first is not None
    assert isinstance(end, func.ReturnOp)
    block.insert_ops_before(build.ops, first)
    past.replace_all_uses_with(value)
    block.erase_arg(past)
    if place == axis:
        return concat.result
    # the new rows are turned, not the whole cache
    build = Build()
    new = build(TransposeOp, concat.inputs[1], permutation=order)
    after = build(ConcatOp, stored, new, axis=place)
    turned = build(TransposeOp, after, permutation=back)
    block.insert_ops_before(build.ops, concat)
    for i, value in enumerate(end.operands):
        if value is concat.result:
            end.operands[i] = after
    concat.result.replace_all_uses_with(turned)
    block.erase_op(concat)
    return after


def _finish(main: func.FuncOp, added: Sequence[str], after: Mapping[str, SSAValue]) -> None:
    """
    Gives the function its new type, names and states; `after` are the next values of the states.
    """
    assert main.arg_attrs is not None
    given = [*main.arg_attrs, *(DictionaryAttr({NAME: StringAttr(name)}) for name in added)]
    main.properties["arg_attrs"] = ArrayAttr(given)
    end = _return(main)
    main.properties["function_type"] = FunctionType.from_lists(
        [a.type for a in main.body.block.args], [v.type for v in end.operands]
    )
    names = [text_of(about.data[NAME]) for about in given]
    results: dict[SSAValue, int] = {v: i for i, v in enumerate(end.operands)}
    set_states(main, {names.index(name): results[value] for name, value in after.items()})
