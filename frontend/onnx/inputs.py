"""The inputs of a graph: their types, with symbolic dimensions replaced by numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import GraphProto, TensorProto, TensorShapeProto, ValueInfoProto
from xdsl.dialects.builtin import TensorType

from ...errors import ModelError
from ...glow_dialects.elements import tensor_type
from ...glow_dialects.extents import Extent
from ...wording import did_you_mean, free_name
from .element_types import check_shape, element_of_onnx
from .problems import Unsupported, some


def real_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """Returns the inputs that have no initializer. Those that have one are constants."""
    constants = {t.name for t in graph.initializer}
    return [i for i in graph.input if i.name not in constants]


def input_dims(inputs: Sequence[ValueInfoProto]) -> dict[str, list[int | str]]:
    """
    Returns the dimensions of each input by name: a size, or a symbol. A dimension without a name
    (`?`, -1, or nothing at all) has a symbol of its own, `<input>_dim<index>`.
    """
    named = {d.dim_param for value in inputs for d in _dims(value)}
    found: dict[str, list[int | str]] = {}
    for value in inputs:
        found[value.name] = [_size(d) for d in _dims(value)]
        for i, size in enumerate(found[value.name]):
            if size == UNNAMED:
                found[value.name][i] = free_name(f"{value.name}_dim{i}", named)
    return found


def output_dims(value: ValueInfoProto) -> list[int | str | None] | None:
    """
    Returns the dimensions of an output, None for one without a name; None if nothing is declared.
    """
    if not value.type.tensor_type.HasField("shape"):
        return None
    return [None if size == UNNAMED else size for size in map(_size, _dims(value))]


UNNAMED = "?"


def _size(dim: TensorShapeProto.Dimension) -> int | str:
    if dim.HasField("dim_value") and dim.dim_value != -1:
        return dim.dim_value
    return dim.dim_param or UNNAMED


def _dims(value: ValueInfoProto) -> Sequence[TensorShapeProto.Dimension]:
    return value.type.tensor_type.shape.dim


def symbols_of(inputs: Sequence[ValueInfoProto]) -> list[str]:
    """Returns all symbols, in the order in which inputs mention them."""
    dims = input_dims(inputs).values()
    return list(dict.fromkeys(size for sizes in dims for size in sizes if isinstance(size, str)))


def input_types(
    inputs: Sequence[ValueInfoProto], symbols: Mapping[str, int], max_elements: int
) -> tuple[dict[str, TensorType | None], list[str]]:
    """
    Returns the type of each input by name, and the problems of unsupported inputs, which have the
    type None.

    `symbols` has all symbols (`check_symbols`). Raises ModelError if a dimension is negative or
    enormous.
    """
    dims = input_dims(inputs)
    types: dict[str, TensorType | None] = {}
    problems: list[str] = []
    for value in inputs:
        if value.name in types:
            raise ModelError(f"input {value.name!r} is defined twice")
        try:
            sizes = [d if isinstance(d, int) else symbols[d] for d in dims[value.name]]
            types[value.name] = _input_type(value, sizes, max_elements)
        except Unsupported as reason:
            problems.append(str(reason))
            types[value.name] = None
    return types, problems


def _input_type(value: ValueInfoProto, shape: list[int], max_elements: int) -> TensorType:
    what = f"input {value.name!r}"
    kind = value.type.WhichOneof("value")
    if kind is None:
        raise ModelError(f"{what}: has no type")
    if kind != "tensor_type":
        raise Unsupported(f"{what} is a {kind.removesuffix('_type')}, not a tensor")
    tensor = value.type.tensor_type
    if tensor.elem_type == TensorProto.UNDEFINED:
        raise ModelError(f"{what}: has no element type")
    element = element_of_onnx(tensor.elem_type, what)
    if not tensor.HasField("shape"):
        raise Unsupported(f"{what} has no shape, not even a number of dimensions")
    check_shape(shape, what, max_elements)
    return tensor_type(element, shape)


def check_symbols(inputs: Sequence[ValueInfoProto], symbols: Mapping[str, int]) -> None:
    """Raises ModelError unless `symbols` has a value for each symbol of the inputs and no other."""
    users: dict[str, list[str]] = {}
    for name, dims in input_dims(inputs).items():
        for i, size in enumerate(dims):
            if isinstance(size, str):
                users.setdefault(size, []).append(f"dimension {i} of input {name!r}")
    if unused := [s for s in symbols if s not in users]:
        known = some(list(users)) if users else "it has none"
        hint = did_you_mean(unused[0], users)
        raise ModelError(
            f"the model has no symbol {some(unused)}; its symbols: {known}{hint} (shapes of "
            "outputs follow from those of inputs)"
        )
    missing = [s for s in users if s not in symbols]
    if missing:
        where = "; ".join(f"{s} ({some(users[s], 4)})" for s in missing)
        options = " ".join(f"--define-symbol {s}=1" for s in missing)
        values = ", ".join(f"{s!r}: 1" for s in missing)
        raise ModelError(
            f"the model's shapes are not fixed; give numbers for: {where}. For example "
            f"{options}, or in Python symbols={{{values}}}"
        )
    for symbol, size in symbols.items():
        if isinstance(size, Extent):
            continue
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise ModelError(f"expected a size of at least 0 for symbol {symbol}, found {size!r}")
