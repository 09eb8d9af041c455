"""The import of an ONNX model as a module of the graph dialect."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import onnx
from onnx import GraphProto, TensorProto, ValueInfoProto
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...errors import ModelError, UnsupportedError, ValuesNeededError
from ...glow_dialects.interface_attributes import (
    RANDOM_STATE,
    RANGES,
    STEPS,
    USED,
    range_attribute,
)
from ...glow_dialects.operator import text_of
from ...wording import free_name
from . import ops  # noqa: F401  (registers the converters)
from .bodies import erase_dead
from .builder import Differentiate, GraphBuilder, element
from .checked_values import Counted, Exceeded, Extremes, Indices
from .computed_indices import computed_ranges
from .cut import cut
from .element_types import ELEMENTS
from .functions import Functions
from .gradients import with_targets
from .graph import GraphConverter
from .inputs import check_symbols, input_types, real_inputs
from .load import Model, load_model
from .nested import part_name
from .old_opsets import with_known_opset
from .order import check_defined, live_nodes, sort_nodes
from .scope import Scope
from .stand_ins import declared_types
from .subgraphs import LIMIT
from .weights import WeightReader

MAX_ELEMENTS = 2**31
_MOST_PROBLEMS = 20
"""The number of problems up to which each one has a line of its own."""
Types: TypeAlias = "Mapping[str, TensorType | None]"


def import_onnx(
    model: str | os.PathLike[str] | bytes | onnx.ModelProto | Model,
    symbols: Mapping[str, int] | None = None,
    max_elements: int = MAX_ELEMENTS,
    external: set[str] | None = None,
    values: Mapping[str, np.ndarray] | None = None,
    parameters: bool = False,
    differentiate: Differentiate | None = None,
    unchecked: list[Indices] | None = None,
) -> ModuleOp:
    """
    Returns a module with the model's graph as `func.func @main`.

    Arguments and results have static shapes and carry ONNX's names as `glow.name`. Weights stay
    where they are: constants refer to the model's file, to files of external data in its folder, or
    to the model in memory, which must not be changed while the module is in use.

    `model` is a path, a serialized `ModelProto`, a `ModelProto`, or what `load_model` made of one
    of these, which may be imported several times. `symbols` gives a size to each symbolic dimension
    of the inputs; a dimension without a name is called `<input>_dim<index>`. No tensor may have
    more than `max_elements` elements. The paths of files of external data are added to `external`.
    `values` of some inputs, which have their types, are constants in the graph; the inputs stay,
    without users. With `parameters`, initializers of floats that have a dimension are not folded
    and have ONNX's names as `glow.name`. `differentiate` makes the nodes of gradients. Indices that
    symbols decide are added to `unchecked`.

    Raises ModelError if the model cannot be read or is invalid, or if symbols are missing, and
    UnsupportedError with a list of everything in it that has no counterpart in the graph dialect:
    ValuesNeededError if values of inputs are missing, PartsNeededError if computed values are.
    """
    loaded = load_model(model)
    sizes = symbols or {}
    inputs = real_inputs(loaded.proto.graph)
    check_symbols(inputs, sizes)
    loaded = with_targets(with_known_opset(loaded, sizes))
    graph = loaded.proto.graph
    if graph.sparse_initializer:
        raise UnsupportedError(_unsupported_message(["sparse initializers"], graph))
    types, problems = input_types(inputs, sizes, max_elements)
    block = Block(arg_types=[t for t in types.values() if t is not None])
    builder = GraphBuilder(block, max_elements)
    builder.parameters = set() if parameters else None
    builder.differentiate = differentiate
    weights = WeightReader(loaded, max_elements)
    scope = _outermost(builder, weights, loaded, types, values or {})
    converter = GraphConverter(builder, weights, Functions(loaded.proto.functions))
    _convert_graph(converter, graph, scope, loaded.opsets, problems)
    if converter.undecided:
        raise _values_needed(converter, graph, block, types)
    if converter.cuts:
        message = _unsupported_message(list(converter.cuts.values()), graph)
        raise cut(loaded, message, converter.cuts, scope, types, builder.counted)
    results = [found for o in graph.output for found in _outputs(scope, o, loaded.flattened)]
    weights.strings.warn_of(results)
    if external is not None:
        external |= weights.external
    module = _module(graph, list(types), block, results, builder)
    if unchecked is not None:
        unchecked += builder.unchecked
    return module


def _outermost(
    builder: GraphBuilder,
    weights: WeightReader,
    loaded: Model,
    types: Types,
    values: Mapping[str, np.ndarray],
) -> Scope:
    """Returns the scope of the graph, with its inputs and the `values` of some of them."""
    graph = loaded.proto.graph
    scope = Scope(builder, weights, declared_types([*graph.value_info, *graph.output]))
    scope.initializers = _initializers(loaded.initializers)
    scope.values = dict.fromkeys(types)
    typed = (name for name, t in types.items() if t is not None)
    for name, value in zip(typed, builder.graph.args, strict=True):
        scope.define(name, value)
    for name, array in values.items():
        scope.define(name, builder.constant(array))
    return scope


def _initializers(tensors: Sequence[TensorProto]) -> dict[str, TensorProto]:
    found: dict[str, TensorProto] = {}
    for tensor in tensors:
        if tensor.name in found:
            raise ModelError(f"initializer {tensor.name!r} is defined twice")
        found[tensor.name] = tensor
    return found


def _convert_graph(
    converter: GraphConverter,
    graph: GraphProto,
    scope: Scope,
    opsets: Mapping[str, int],
    problems: Sequence[str],
) -> None:
    """Converts the nodes that the outputs depend on. If that fails, checks all the others too."""
    if not graph.output:
        raise ModelError("the graph has no outputs")
    defined = [*scope.values, *scope.initializers]
    check_defined(graph.node, defined)
    nodes = sort_nodes(graph.node, defined)
    live = live_nodes(nodes, [o.name for o in graph.output])
    converter.convert([n for i, n in enumerate(nodes) if i in live], scope, opsets)
    if not problems and not converter.problems:
        return
    converter.convert([n for i, n in enumerate(nodes) if i not in live], scope, opsets)
    undecided = [problem for problem, _ in converter.undecided]
    found = [*problems, *converter.problems, *undecided]
    raise UnsupportedError(_unsupported_message(found, graph))


def _values_needed(
    converter: GraphConverter, graph: GraphProto, block: Block, types: Types
) -> ValuesNeededError:
    needed = {value for _, values in converter.undecided for value in values}
    # the last argument may be the state of random numbers
    named = zip((n for n, t in types.items() if t is not None), block.args, strict=False)
    message = _unsupported_message([problem for problem, _ in converter.undecided], graph)
    return ValuesNeededError(message, tuple(n for n, arg in named if arg in needed))


def _unsupported_message(problems: Sequence[str], graph: GraphProto) -> str:
    name = f" {graph.name!r}" if graph.name else ""
    lines = "".join(f"\n  {p}" for p in _shortened(list(dict.fromkeys(problems))))
    return f"the model{name} needs what is not supported:{lines}"


def _shortened(problems: Sequence[str]) -> Sequence[str]:
    """
    Returns the problems, or if there are many, one line for each operator and reason with the names
    of all its nodes.
    """
    if len(problems) <= _MOST_PROBLEMS:
        return problems
    nodes: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        label, _, reason = problem.partition("': ")
        operator, _, name = label.rpartition(" '")
        nodes.setdefault((operator, reason), []).append(f"'{name}'" if reason else problem)
    return [
        f"{operator}: {reason}: {', '.join(names)}" if reason else ", ".join(names)
        for (operator, reason), names in nodes.items()
    ]


def _outputs(scope: Scope, declared: ValueInfoProto, flattened: bool) -> list[tuple[str, SSAValue]]:
    """
    Returns an output with its name. Of a sequence, if that is `flattened`, it returns each element.
    Raises ModelError if it is declared with other elements.
    """
    name = declared.name
    try:
        value = scope.find(name)
    except KeyError:
        value = None
    if value is None:
        raise ModelError(f"the output {name!r} is defined nowhere")
    if isinstance(value.type, TensorType):
        wanted = ELEMENTS.get(declared.type.tensor_type.elem_type)
        if wanted not in (None, element(value)):
            raise ModelError(
                f"the output {name!r} is declared to have elements {wanted}, but the "
                f"network computes {value.type}: correct the declaration, or add a Cast"
            )
        return [(name, value)]
    if not flattened or not isinstance(value.owner, UnrealizedConversionCastOp):
        raise UnsupportedError(f"the output {name!r} is a sequence, not a tensor")
    return [(part_name(name, i), part) for i, part in enumerate(value.owner.operands)]


def _module(
    graph: GraphProto,
    inputs: Sequence[str],
    block: Block,
    named: Sequence[tuple[str, SSAValue]],
    builder: GraphBuilder,
) -> ModuleOp:
    names, outputs = [name for name, _ in named], [value for _, value in named]
    counted = [builder.counted.get(value) for value in outputs]
    counts = list(dict.fromkeys(each.count for each in counted if each is not None))
    limit = builder.any_exceeded()
    flags = [] if limit is None else [limit.value]
    erase_dead(block, [*outputs, *counts, *flags])
    extremes = computed_ranges(builder, [*outputs, *counts])
    results = [*outputs, *counts, *(each.value for each in extremes), *flags]
    about = _with_extremes(_with_counts(names, counted, counts), extremes)
    block.add_op(ReturnOp(*results))
    function = FuncOp(
        "main",
        (block.arg_types, [r.type for r in results]),
        Region(block),
        arg_attrs=_with_ranges(_arguments(inputs, builder), block, builder.indices),
        res_attrs=_with_limit(about, limit),
    )
    if graph.name:
        function.attributes["glow.model"] = StringAttr(graph.name)
    return ModuleOp([function])


def _with_counts(
    names: Sequence[str], counted: Sequence[Counted | None], counts: Sequence[SSAValue]
) -> ArrayAttr[DictionaryAttr]:
    """Returns the attributes of results, of which those with counts come first."""
    found: list[DictionaryAttr] = []
    for name, each in zip(names, counted, strict=True):
        about: dict[str, Attribute] = {"glow.name": StringAttr(name)}
        if each is not None:
            place = len(names) + counts.index(each.count)
            about[USED] = DictionaryAttr(
                {"axis": IntegerAttr(each.axis, i64), "output": IntegerAttr(place, i64)}
            )
        found.append(DictionaryAttr(about))
    for i in range(len(counts)):
        name = free_name(f"count {i}", names)
        found.append(DictionaryAttr({"glow.name": StringAttr(name)}))
    return ArrayAttr(found)


def _with_limit(
    attributes: ArrayAttr[DictionaryAttr], limit: Exceeded | None
) -> ArrayAttr[DictionaryAttr]:
    """Returns the attributes of results, of which the last may say that a loop does not end."""
    if limit is None:
        return attributes
    name = StringAttr(free_name("limit", _names_in(attributes)))
    message = f"{limit.loops}: not at its end after {LIMIT} steps"
    about = DictionaryAttr({"glow.name": name, STEPS: StringAttr(message)})
    return ArrayAttr([*attributes, about])


def _with_extremes(
    promised: ArrayAttr[DictionaryAttr], extremes: Sequence[Extremes]
) -> ArrayAttr[DictionaryAttr]:
    """Returns the attributes of results, of which the last ones are extremes of indices."""
    found, names = list(promised), _names_in(promised)
    for each in extremes:
        users = ", ".join(dict.fromkeys(r.user for r in each.ranges))
        name = free_name(f"extremes of indices of {users}", names)
        names.add(name)
        checked = ArrayAttr([_range_attribute(one) for one in each.ranges])
        found.append(DictionaryAttr({"glow.name": StringAttr(name), RANGES: checked}))
    return ArrayAttr(found)


def _with_ranges(
    names: ArrayAttr[DictionaryAttr], block: Block, indices: Sequence[Indices]
) -> ArrayAttr[DictionaryAttr]:
    """Returns the attributes of arguments with the ranges of the indices in them."""
    found = [dict(about.data) for about in names.data]
    for argument, about in zip(block.args, found, strict=True):
        ranges = [_range_attribute(each) for each in indices if each.value is argument]
        if ranges:
            about[RANGES] = ArrayAttr(ranges)
    return ArrayAttr([DictionaryAttr(about) for about in found])


def _range_attribute(of: Indices) -> DictionaryAttr:
    return range_attribute(of.low, of.high, of.user, of.total, of.ascending, of.what)


def _arguments(names: Sequence[str], builder: GraphBuilder) -> ArrayAttr[DictionaryAttr]:
    """Returns the attributes of arguments, of which the state of random numbers comes last."""
    if builder.random is None:
        return _names(names)
    found = _names([*names, free_name("random state", names)]).data
    return ArrayAttr([*found[:-1], DictionaryAttr({**found[-1].data, RANDOM_STATE: UnitAttr()})])


def _names_in(attributes: ArrayAttr[DictionaryAttr]) -> set[str]:
    return {text_of(about.data["glow.name"]) or "" for about in attributes}


def _names(names: Sequence[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"glow.name": StringAttr(n)}) for n in names])
