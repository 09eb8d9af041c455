"""The inputs of a graph: their types, with symbolic dimensions replaced by numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import GraphProto, TensorProto, ValueInfoProto
from xdsl.dialects.builtin import TensorType

from ...errors import ModelError
from .element_types import check_shape, element_of_onnx
from .problems import Unsupported, some


def symbol_of(value: ValueInfoProto, index: int) -> str | None:
    """
    The symbol that stands for a dimension of an input; None if the dimension is a number.

    A dimension without a name has the symbol `<input>_dim<index>`.
    """
    dim = value.type.tensor_type.shape.dim[index]
    if dim.HasField("dim_value"):
        return None
    return dim.dim_param or f"{value.name}_dim{index}"


def real_inputs(graph: GraphProto) -> list[ValueInfoProto]:
    """The inputs that have no initializer. Those that have one are constants."""
    constants = {t.name for t in graph.initializer}
    return [i for i in graph.input if i.name not in constants]


def symbol_sizes(
    inputs: Sequence[ValueInfoProto], shapes: Sequence[tuple[int, ...]] | None
) -> dict[str, int]:
    """
    The symbols of the inputs, with the sizes that they have if the inputs have these `shapes`.

    Dimensions that a shape lacks, and all if `shapes` is None, get size 1.
    """
    sizes: dict[str, int] = {}
    for i, value in enumerate(inputs):
        shape = shapes[i] if shapes is not None else ()
        for d in range(len(value.type.tensor_type.shape.dim)):
            symbol = symbol_of(value, d)
            if symbol is not None:
                sizes.setdefault(symbol, shape[d] if d < len(shape) else 1)
    return sizes


def input_types(
    inputs: Sequence[ValueInfoProto], symbols: Mapping[str, int], max_elements: int
) -> tuple[dict[str, TensorType | None], list[str]]:
    """
    The type of each input by name, and what is unsupported: those inputs have the type None.

    Raises ModelError if a symbol has no value, if a value is given for one that does not exist, or
    if a dimension is negative or enormous.
    """
    check_symbols(inputs, symbols)
    types: dict[str, TensorType | None] = {}
    problems: list[str] = []
    for value in inputs:
        if value.name in types:
            raise ModelError(f"input {value.name!r} is defined twice")
        try:
            types[value.name] = _input_type(value, symbols, max_elements)
        except Unsupported as reason:
            problems.append(str(reason))
            types[value.name] = None
    return types, problems


def _input_type(value: ValueInfoProto, symbols: Mapping[str, int], max_elements: int) -> TensorType:
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
    shape = []
    for i, dim in enumerate(tensor.shape.dim):
        symbol = symbol_of(value, i)
        shape.append(dim.dim_value if symbol is None else symbols[symbol])
    check_shape(shape, what, max_elements)
    return TensorType(element, shape)


def check_symbols(inputs: Sequence[ValueInfoProto], symbols: Mapping[str, int]) -> None:
    """Raises ModelError unless `symbols` has a value for each symbol of the inputs and no other."""
    users: dict[str, list[str]] = {}
    for value in inputs:
        for i in range(len(value.type.tensor_type.shape.dim)):
            symbol = symbol_of(value, i)
            if symbol is not None:
                users.setdefault(symbol, []).append(f"dimension {i} of input {value.name!r}")
    missing = [s for s in users if s not in symbols]
    if missing:
        where = "; ".join(f"{s} ({some(users[s], 4)})" for s in missing)
        options = " ".join(f"--define-symbol {s}=1" for s in missing)
        values = ", ".join(f"{s!r}: 1" for s in missing)
        raise ModelError(
            f"the model's shapes are not fixed; give numbers for: {where}. For example "
            f"{options}, or in Python symbols={{{values}}}"
        )
    unused = [s for s in symbols if s not in users]
    if unused:
        known = some(list(users)) if users else "it has none"
        raise ModelError(f"the model has no symbol {some(unused)}; its symbols: {known}")
    for symbol, size in symbols.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise ModelError(f"expected a size of at least 0 for symbol {symbol}, found {size!r}")
