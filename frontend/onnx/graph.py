"""
Converts the nodes of a graph, in order of their dependencies.

A node that cannot be converted does not end the conversion: the problem is noted, and its results
become placeholders of the types that the model or ONNX's shape inference gives, so that problems of
later nodes are found too. A node that depends on a stand-in only reports that its operator is
missing, since other problems may merely follow from the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from onnx import AttributeProto, GraphProto, NodeProto
from onnx.defs import OpSchema
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...errors import ModelError
from .adopted import ADOPTED, without_extensions
from .bodies import ConvertedBody, erase_dead
from .builder import GraphBuilder
from .computed_indices import computed_ranges
from .control_flow import CONTROL_FLOW
from .counted import note_counted
from .empty import empty_results
from .functions import Body, Functions, depends_on_types
from .node import (
    CONTRIB,
    EXTENSIONS,
    Converter,
    OnnxNode,
    find_converter,
    find_schema,
    node_label,
    onnx_knows,
)
from .order import sort_nodes
from .problems import (
    Computed,
    MissingOperator,
    NotConstant,
    Reported,
    SizeNeeded,
    Unsupported,
    some,
)
from .scope import Scope, Types
from .signature import check_signature, check_types
from .stand_ins import check_shapes, inferred_types
from .weights import WeightReader

Inputs = Sequence[SSAValue | None]
"""Values of a node's inputs; None for those that are absent."""

_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
_UNFORESEEN = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError)
"""A converter that takes for granted what its operator is defined for raises one of these."""


class GraphConverter:
    """Appends the nodes of graphs and functions to a block."""

    def __init__(self, builder: GraphBuilder, weights: WeightReader, functions: Functions):
        self.builder = builder
        self.weights = weights
        self.functions = functions
        self.problems: list[str] = []
        """The unsupported parts so far, one line for each."""
        self.undecided: list[tuple[str, Collection[SSAValue]]] = []
        """Places that need a value which inputs of the model decide, and these inputs."""
        self.cuts: dict[tuple[str, ...], str] = {}
        """
        The nodes of the graph (by their outputs) that need values which the model computes, and
        messages about them.
        """
        self._stand_ins: set[SSAValue] = set()
        self._depth = 0
        """The number of graphs and functions that are being converted, one inside the other."""

    def convert(
        self, nodes: Sequence[NodeProto], scope: Scope, opsets: Mapping[str, int], path: str = ""
    ) -> None:
        """
        Converts sorted nodes; their results become values of `scope`.

        `path` says in messages which function the nodes are in. Raises ModelError for an invalid
        node.
        """
        self._depth += 1
        try:
            self._convert_all(nodes, scope, opsets, path)
        finally:
            self._depth -= 1

    def _convert_all(
        self, nodes: Sequence[NodeProto], scope: Scope, opsets: Mapping[str, int], path: str
    ) -> None:
        for proto in nodes:
            where = path + node_label(proto)
            inputs = [self._value(name, scope, where) if name else None for name in proto.input]
            named = [v for n, v in zip(proto.input, inputs, strict=True) if n]
            stood_in = any(v is None or v in self._stand_ins for v in named)
            try:
                results = self._convert_node(proto, inputs, opsets, where, None not in named, scope)
            except (Unsupported, SizeNeeded) as reason:
                self._note(reason, proto, where, stood_in)
                results, stood_in = (), True
            except (VerifyException, ModelError, ArithmeticError, ValueError) as error:
                if not stood_in:
                    raise ModelError(_located(where, error)) from error
                results = ()
            types = scope.declared
            if stood_in:
                types = {**types, **inferred_types(proto, _definition(proto, opsets)[0], inputs)}
            self._bind(proto, results, scope, types if stood_in else None)

    def _note(
        self, reason: Unsupported | SizeNeeded, proto: NodeProto, where: str, stood_in: bool
    ) -> None:
        """
        Notes why a node is not converted. Raises the reason again if the node of the outermost
        graph that it is a part of has to be cut off.
        """
        match reason:
            case Computed() | SizeNeeded():
                if self._depth > 1:
                    raise reason
                if not stood_in:
                    self.cuts[tuple(proto.output)] = f"{where}: {reason}"
            case Reported():
                pass
            case NotConstant():
                self.undecided.append((f"{where}: {reason}", reason.inputs))
            case _:
                if isinstance(reason, MissingOperator) or not stood_in:
                    self.problems.append(f"{where}: {reason}")

    def _value(self, name: str, scope: Scope, where: str) -> SSAValue | None:
        try:
            return scope.find(name)
        except Unsupported as reason:
            self.problems.append(str(reason))
            return None
        except KeyError:
            raise ModelError(f"{where}: {name!r} is defined nowhere") from None

    def _convert_node(
        self,
        proto: NodeProto,
        inputs: Inputs,
        opsets: Mapping[str, int],
        where: str,
        complete: bool,
        scope: Scope,
    ) -> Inputs:
        """
        Returns the results of a node; those it leaves out, or all if inputs are unknown, are
        missing.
        """
        schema, domain, opset = _definition(proto, opsets)
        if (schema is not None or domain in EXTENSIONS) and not self.functions.has(proto):
            proto = without_extensions(proto)
            if schema is not None:
                check_signature(proto, schema)
            if not domain and proto.op_type in CONTROL_FLOW:
                return self._control_flow(proto, schema, inputs, opsets, where, complete, scope)
            convert = find_converter(proto.op_type, domain, opset)
            if convert is not None:
                node = OnnxNode(proto, schema, opset, inputs, self.builder, self.weights)
                node.standard = partial(self._standard, where=where, scope=scope)
                return self._converted(node, convert) if complete else ()
            if not complete and schema is not None and depends_on_types(schema):
                return ()
        body = self.functions.body(proto, schema, inputs)
        if body is None:
            raise MissingOperator(_why_missing(proto, schema, opset))
        if not body.is_local and not any(v in self.builder.counted for v in inputs):
            check_shapes(proto, schema, inputs)
        return self._expand(body, proto, inputs, {**opsets, **body.opsets}, where, scope)

    def _standard(
        self, proto: NodeProto, inputs: Inputs, opset: int, where: str, scope: Scope
    ) -> Inputs:
        """Returns the results of an operator of ONNX that is a part of another one."""
        return self._convert_node(proto, inputs, {"": opset}, where, True, scope)

    def _converted(self, node: OnnxNode, convert: Converter) -> Inputs:
        """
        Returns the results of a converter; if it knows none without elements, these. Raises
        SizeNeeded as `note_counted` does.
        """
        build = self.builder
        before = build.block.last_op
        is_counted = any(v in build.counted for v in node.inputs)
        try:
            results = self._results(node, convert)
        except (Unsupported, VerifyException, ModelError, ArithmeticError, ValueError) as problem:
            if found := empty_results(build, node):
                return found
            if is_counted and not isinstance(problem, Unsupported):
                raise SizeNeeded() from problem  # the largest size does not fit, but another may
            raise
        self.weights.strings.note_results(node.schema, node.inputs, results)
        note_counted(build, before)
        if is_counted and not all(r in build.counted for r in results if r is not None):
            raise SizeNeeded()
        return results

    def _results(self, node: OnnxNode, convert: Converter) -> Inputs:
        """Returns the results of a converter. Raises ModelError if inputs have other types."""
        try:
            return _as_sequence(convert(node))
        except _UNFORESEEN:
            if node.schema is not None:
                types = [self.weights.strings.onnx_type(v) for v in node.inputs]
                check_types(node.schema, types)
            raise

    def _control_flow(
        self,
        proto: NodeProto,
        schema: OpSchema | None,
        inputs: Inputs,
        opsets: Mapping[str, int],
        where: str,
        complete: bool,
        scope: Scope,
    ) -> Inputs:
        """Returns the results of an operator with subgraphs."""
        if not complete:
            return ()
        node = OnnxNode(proto, schema, opsets[""], inputs, self.builder, self.weights)
        return CONTROL_FLOW[proto.op_type](node, _Subgraphs(self, scope, opsets, where))

    def subgraph(
        self,
        graph: GraphProto,
        values: Sequence[SSAValue],
        scope: Scope,
        opsets: Mapping[str, int],
        where: str,
    ) -> list[SSAValue]:
        """Converts a subgraph for values of its inputs; returns those of its outputs."""
        inner = Scope(self.builder, self.weights, {}, scope)
        inner.initializers = {t.name: t for t in graph.initializer}
        inner.values.update(zip((i.name for i in graph.input), values, strict=True))
        defined = [*inner.values, *inner.initializers]
        self.convert(sort_nodes(graph.node, defined), inner, opsets, f"{where} / ")
        results = [self._value(o.name, inner, where) for o in graph.output]
        found = [r for r in results if r is not None and r not in self._stand_ins]
        if len(found) < len(results):
            raise Reported("a part of it is not supported")
        return found

    def _expand(
        self,
        body: Body,
        proto: NodeProto,
        inputs: Inputs,
        opsets: Mapping[str, int],
        where: str,
        around: Scope,
    ) -> Inputs:
        """Converts the body of a function in place of the node that calls it."""
        # a graph that the node has becomes a part of the body, and still sees what is around it
        captures = any(a.type in _GRAPHS for a in proto.attribute)
        scope = Scope(self.builder, self.weights, {}, around if captures else None)
        scope.values = {
            name: value
            for name, value, used in zip(body.inputs, inputs, proto.input, strict=False)
            if used
        }
        outer, self.problems = self.problems, []
        with self.functions.entered(proto):
            nodes = sort_nodes(body.nodes, body.inputs)
            self.convert(nodes, scope, opsets, f"{where} / " if body.is_local else "")
        inner, self.problems = self.problems, outer
        if inner and not body.is_local:
            raise MissingOperator(
                f"the operator is not supported: its definition needs {some(inner)}"
            )
        self.problems += inner
        pairs = zip(body.outputs, proto.output, strict=False)
        return [self._value(name, scope, where) if used else None for name, used in pairs]

    def _bind(self, proto: NodeProto, results: Inputs, scope: Scope, types: Types | None) -> None:
        """
        Defines the outputs of a node. `types` is None if it was converted without problems, else
        the known types of its outputs.
        """
        padded = [*results, *[None] * len(proto.output)]
        for name, value in zip(proto.output, padded, strict=False):
            if not name:
                continue
            if value is None and types and name in types:
                value = Block(arg_types=[types[name]]).args[0]
            if value is not None and types is not None:
                self._stand_ins.add(value)
            scope.define(name, value)


class _Subgraphs:
    """The subgraphs of a node."""

    def __init__(
        self, converter: GraphConverter, scope: Scope, opsets: Mapping[str, int], where: str
    ):
        self._converter = converter
        self._around = scope, opsets, where

    def run(self, graph: GraphProto, values: Sequence[SSAValue]) -> list[SSAValue]:
        return self._converter.subgraph(graph, values, *self._around)

    def body(
        self,
        graph: GraphProto,
        types: Sequence[Attribute],
        arguments: Callable[[Sequence[SSAValue]], Sequence[SSAValue]] = list,
    ) -> ConvertedBody:
        converter, build = self._converter, self._converter.builder
        block = Block(arg_types=types)
        problems = len(converter.problems)
        try:
            with build.inside(block), build.apart():
                results = self.run(graph, arguments(block.args))
                self._expect_tensors(results)
                limit = build.any_exceeded()
                flags = [] if limit is None else [limit]
                erase_dead(block, [*results, *(each.value for each in flags)])
                verdicts = [*flags, *computed_ranges(build, results)]
        except Reported:
            if found := converter.problems[problems:]:
                del converter.problems[problems:]
                raise Unsupported(found[0]) from None
            raise
        except ModelError as error:
            # a branch that is not taken may be wrong for the shapes of these inputs
            raise Unsupported(str(error)) from error
        return ConvertedBody(block, results, verdicts)

    def _expect_tensors(self, results: Sequence[SSAValue]) -> None:
        if not all(isinstance(value.type, TensorType) for value in results):
            raise Unsupported("a sequence is the result of a body")
        if any(value in self._converter.weights.strings for value in results):
            raise Unsupported("a string is the result of a body")


def _definition(proto: NodeProto, opsets: Mapping[str, int]) -> tuple[OpSchema | None, str, int]:
    """
    Returns ONNX's definition of a node's operator, if there is one, its domain and its opset
    version.
    """
    domain = "" if proto.domain == "ai.onnx" else proto.domain
    if not domain and find_converter(proto.op_type, CONTRIB, 1) and not onnx_knows(proto.op_type):
        # onnxruntime's optimizer writes some of its operators into the default domain
        return None, CONTRIB, 1
    if domain == CONTRIB and proto.op_type in ADOPTED:
        domain, opset = "", ADOPTED[proto.op_type].opset
    else:
        opset = opsets.get(domain, 0)
    return (find_schema(proto.op_type, domain, opset) if opset else None), domain, opset


def _as_sequence(results: SSAValue | Sequence[SSAValue]) -> Inputs:
    return [results] if isinstance(results, SSAValue) else results


def _why_missing(proto: NodeProto, schema: OpSchema | None, opset: int) -> str:
    if any(a.type in _GRAPHS for a in proto.attribute):
        return "operators with subgraphs are not supported"
    if proto.domain in ("", "ai.onnx") and schema is None:
        return f"opset {opset} has no such operator"
    return "the operator is not supported"


def _located(where: str, error: Exception) -> str:
    # an error inside a function already names the node
    message = str(error)
    return message if message.startswith(where) else f"{where}: {message}"
