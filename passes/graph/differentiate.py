"""
Differentiates graphs: adds nodes that compute gradients, or directional derivatives.

In the reverse mode, adjoints go from the results to the values with respect to which the program is
differentiated. What they need of the forward program they read from it. The result is an ordinary
graph, which later passes optimise like any other (Wei, Schwartz and Adve 2018, "DLVM"; Griewank and
Walther 2008, "Evaluating Derivatives").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from ...errors import CompileError
from ...glow_dialects.glow.base import Node
from ...glow_dialects.glow.constant import ConstantOp
from ...glow_dialects.operator import shape_of
from ..levels import GRAPH
from ..visited_operation import each
from .adjoints import Parameter, directional, gradients, is_of_floats
from .rewriting import Build, attribute_dictionaries, expect_static

_NAME = "glow.name"
REVERSE, FORWARD = "vjp", "jvp"


class Graph:
    """A function of one block, with the names of its arguments, constants and results."""

    def __init__(self, function: func.FuncOp):
        self.function = function
        self.block: Block = function.body.block
        end = self.block.last_op
        assert isinstance(end, func.ReturnOp)
        self.end = end
        types = function.function_type
        self.arg_attrs = attribute_dictionaries(function.arg_attrs, len(types.inputs))
        self.res_attrs = attribute_dictionaries(function.res_attrs, len(types.outputs))
        self.results = {
            _name(a, f"result {i}"): v
            for i, (a, v) in enumerate(zip(self.res_attrs, end.operands, strict=True))
        }
        self.inputs = {
            _name(a, v.name_hint or f"argument {i}"): v
            for i, (a, v) in enumerate(zip(self.arg_attrs, self.block.args, strict=True))
        }
        self.constants = {
            op.result.name_hint: op.result
            for op in self.block.ops
            if isinstance(op, ConstantOp) and op.result.name_hint
        }
        self.added: list[tuple[str, SSAValue]] = []

    def parameters(self, names: Sequence[str]) -> list[Parameter]:
        """Returns what `names` name; by default all inputs of floats."""
        known: Mapping[str, SSAValue] = {**self.constants, **self.inputs}
        if not names:
            return [Parameter(n, v) for n, v in self.inputs.items() if is_of_floats(v)]
        for name in names:
            if name not in known:
                raise CompileError(
                    f"expected an input or a constant for 'wrt', found {name!r}; "
                    f"there are {', '.join(known) or 'none'}"
                )
            if not is_of_floats(known[name]):
                raise CompileError(f"{name} has type {known[name].type}, not floats")
        return [Parameter(n, known[n]) for n in names]

    def result(self, name: str) -> tuple[str, SSAValue]:
        """Returns the result of a name; the first one for no name."""
        if not name and self.results:
            name = next(iter(self.results))
        if name not in self.results:
            raise CompileError(
                f"expected a result for 'of', found {name!r}; there are {', '.join(self.results)}"
            )
        return name, self.results[name]

    def add_input(self, name: str, like: SSAValue) -> SSAValue:
        value = self.block.insert_arg(like.type, len(self.block.args))
        value.name_hint = _as_hint(name)
        self.arg_attrs.append({_NAME: StringAttr(name)})
        return value

    def add_result(self, name: str, value: SSAValue) -> None:
        self.added.append((name, value))

    def insert(self, build: Build, before: Node | None = None) -> None:
        """Puts new nodes before another one, or before the end."""
        self.block.insert_ops_before(build.ops, self.end if before is None else before)

    def finish(self) -> None:
        """Returns the added results, too."""
        self.end.operands = [*self.end.operands, *(v for _, v in self.added)]
        self.res_attrs += [{_NAME: StringAttr(name)} for name, _ in self.added]
        self.function.properties["function_type"] = FunctionType.from_lists(
            [a.type for a in self.block.args], [v.type for v in self.end.operands]
        )
        self.function.properties["arg_attrs"] = _attributes(self.arg_attrs)
        self.function.properties["res_attrs"] = _attributes(self.res_attrs)


def _name(attributes: Mapping[str, Attribute], otherwise: str) -> str:
    name = attributes.get(_NAME)
    return name.data if isinstance(name, StringAttr) else otherwise


def _as_hint(name: str) -> str:
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name)


def _attributes(found: Sequence[Mapping[str, Attribute]]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr(a) for a in found])


def _seed(graph: Graph, name: str, loss: SSAValue, build: Build) -> SSAValue:
    """Returns the adjoint of the loss: 1, or an input for what is no scalar."""
    if not is_of_floats(loss):
        raise CompileError(f"{name} has type {loss.type}, not floats")
    if prod(shape_of(loss.type)) == 1:
        return build.splat(1.0, loss.type)
    return graph.add_input(f"seed.{name}", loss)


def add_gradients(graph: Graph, of: str, parameters: Sequence[Parameter], seeded: bool) -> None:
    """
    Adds the gradient of the result `of` with respect to each parameter as a result `grad.NAME`.

    A result of more than one element needs `seeded`: then the function gets an input `seed.NAME`
    with its adjoint.
    """
    name, loss = graph.result(of)
    if prod(shape_of(loss.type)) != 1 and not seeded:
        raise CompileError(
            f"expected a scalar to differentiate, found {name} of type {loss.type}; "
            "reduce it, or give a seed with seed=true"
        )
    build = Build()
    seed = _seed(graph, name, loss, build)
    found = _all_gradients(graph.block, loss, seed, parameters, build)
    for parameter, gradient in zip(parameters, found, strict=True):
        graph.add_result(f"grad.{parameter.name}", gradient)
    graph.insert(build)


def add_gradient_nodes(
    block: Block, value: SSAValue, wrt: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """
    Appends nodes to a block that compute the gradient of one of its values, a single number, with
    respect to others, and returns the gradients. Raises CompileError for an operator that has no
    derivative.
    """
    build = Build()
    parameters = [Parameter(v.name_hint or f"value {i}", v) for i, v in enumerate(wrt)]
    found = _all_gradients(block, value, build.splat(1.0, value.type), parameters, build)
    block.add_ops(build.ops)
    return found


def _all_gradients(
    block: Block,
    value: SSAValue,
    seed: SSAValue,
    parameters: Sequence[Parameter],
    build: Build,
) -> list[SSAValue]:
    """Returns the adjoint of each parameter; zeros where the value does not depend on it."""
    found = gradients(block, [(value, seed)], parameters, build)
    return [
        build.splat(0.0, parameter.value.type) if gradient is None else gradient
        for parameter, gradient in zip(parameters, found, strict=True)
    ]


def add_tangents(graph: Graph, parameters: Sequence[Parameter]) -> None:
    """
    Adds an input `tangent.NAME` for each parameter, and the directional derivative of each result
    of floats as a result `tangent.NAME`.
    """
    given = {p: graph.add_input(f"tangent.{p.name}", p.value) for p in parameters}
    build = Build()
    tangents = directional(graph.block, given, build)
    for name, value in graph.results.items():
        if is_of_floats(value):
            found = tangents.get(value)
            graph.add_result(
                f"tangent.{name}", build.splat(0.0, value.type) if found is None else found
            )
    graph.insert(build)


@dataclass(frozen=True)
class DifferentiatePass(ModulePass):
    """Adds gradients of a result, or directional derivatives, to graphs."""

    name = "glow-differentiate"
    level = GRAPH

    wrt: tuple[str, ...] = ()
    """
    The names of the inputs and constants with respect to which it differentiates; by default, all
    inputs of floats.
    """
    of: str = ""
    """The name of the result to differentiate in mode `vjp`; by default, the first one."""
    mode: str = REVERSE
    """
    `vjp` adds a result `grad.NAME` for each name in `wrt`. `jvp` adds an input `tangent.NAME` for
    each, and a result `tangent.NAME` for each result.
    """
    seed: bool = False
    """
    Whether a result of more than one element has its adjoint from a further input `seed.NAME`.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.mode not in (REVERSE, FORWARD):
            raise CompileError(f"expected mode {REVERSE} or {FORWARD}, found {self.mode!r}")
        for function in each(op.ops):
            if isinstance(function, func.FuncOp) and len(function.body.blocks) == 1:
                if isinstance(function.body.block.last_op, func.ReturnOp):
                    expect_static(function)
                    self._differentiate(function)

    def _differentiate(self, function: func.FuncOp) -> None:
        graph = Graph(function)
        parameters = graph.parameters(self.wrt)
        if not parameters:
            raise CompileError("there is no input of floats to differentiate with respect to")
        if self.mode == REVERSE:
            add_gradients(graph, self.of, parameters, self.seed)
        else:
            add_tangents(graph, parameters)
        graph.finish()
