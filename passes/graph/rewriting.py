"""
Small rules that replace one graph node by others, and the driver that applies them.

A rule is a function `(node, build) -> value | None`: it inspects the node, and either gives up
(None) or builds nodes with `build` and returns the value that replaces the node's result. New nodes
are inserted before the node that a rule matched, so whatever the node could use they can use. Rules
are collected in tables by the class of the node, so a step of a pass costs one lookup however many
operators there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.utils.exceptions import VerifyException

from ...errors import CompileError, at_operation
from ...glow_dialects.dims import DimsAttr, is_symbolic
from ...glow_dialects.elements import num_elements, storage_type
from ...glow_dialects.glow.arithmetic import AddOp
from ...glow_dialects.glow.base import DataParallel, Node
from ...glow_dialects.glow.constant import ConstantOp, SplatOp
from ...glow_dialects.glow.shape import BroadcastOp, ReshapeOp
from ...glow_dialects.operator import element_of, shape_of, with_shape
from ...glow_dialects.python_values import Python, to_python
from ...glow_dialects.quant import QuantizedType
from ...table import Table
from ..visited_operation import each, visit

if TYPE_CHECKING:
    import numpy as np

SMALL = 16
"""The number of elements of the largest constants that rules read."""


def is_per_axis(value: SSAValue) -> bool:
    """Returns whether the elements of a value have a scale for each index of a dimension."""
    element = element_of(value.type)
    return isinstance(element, QuantizedType) and element.is_per_axis


def ignores_places(node: Operation | Block) -> TypeGuard[DataParallel]:
    """Returns whether a node computes all elements alike, so that it takes tensors of any shape."""
    return isinstance(node, DataParallel) and not any(
        is_per_axis(value) for value in (*node.operands, *node.results)
    )


class Build:
    """Makes nodes, in order; whoever holds it decides where they go."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []

    def __call__(
        self,
        node: type[Node],
        *operands: SSAValue,
        result_types: Sequence[Attribute] | None = None,
        **properties: Python,
    ) -> SSAValue:
        """Inserts `node.of(...)` and returns its only result."""
        return self.add(node.of(*operands, result_types=result_types, **properties))

    def add(self, node: Node) -> SSAValue:
        """Inserts an existing node and returns its only result."""
        self.append(node)
        return node.results[0]

    def append(self, op: Operation) -> None:
        """Inserts an existing operation."""
        self.ops.append(op)

    def like(self, node: Node, *operands: SSAValue, **changed: Python) -> SSAValue:
        """
        Returns the same operator on other operands, with some properties changed.

        A result type that is not inferred gets the shape of the first operand.
        """
        element = element_of(node.results[0].type)
        shape = shape_of(operands[0].type)
        return self(
            type(node),
            *operands,
            result_types=[with_shape(element, shape)],
            **{**node.properties, **changed},
        )

    def sum(self, values: Iterable[SSAValue]) -> SSAValue:
        """Returns the sum of one or more values, which are added in order, each once it is made."""
        return reduce(lambda a, b: self(AddOp, a, b), values)

    def splat(self, value: float, type: Attribute) -> SSAValue:
        """
        Returns a tensor (or, in a stacked body, a number) of `type` that is `value` everywhere.
        """
        return self(SplatOp, result_types=[type], value=value)

    def constant(
        self, array: np.ndarray, hint: str = "constant", element: Attribute | None = None
    ) -> SSAValue:
        """Returns a constant with the elements of `array`, which must not be changed afterwards."""
        # glow-opt on text without large constants needs no numpy
        from ...semantics.arrays import make_constant

        return self.add(make_constant(array, hint, element))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Returns `value` with another shape; `value` itself if it has that shape."""
        if shape_of(value.type) == tuple(shape):
            return value
        return self(ReshapeOp, value, result_types=[with_shape(element_of(value.type), shape)])

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Returns `value` broadcast to `shape`; `value` itself if it has that shape."""
        if shape_of(value.type) == tuple(shape):
            return value
        return self(BroadcastOp, value, result_types=[with_shape(element_of(value.type), shape)])

    def per_channel(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Returns `value` [C] broadcast along dimension 1 of `shape`."""
        (channels,) = shape_of(value.type)
        column = self.reshape(value, [channels] + [1] * (len(shape) - 2))
        return self.broadcast(column, shape)

    def discard(self) -> None:
        """Forgets all nodes, so that their operands do not count them as users."""
        for op in reversed(self.ops):
            op.drop_all_references()
        self.ops = []


N = TypeVar("N", bound=Node)
Rule: TypeAlias = Callable[[N, Build], SSAValue | None]


class RuleTable(Table[type[Node], list[Rule]]):
    """Rules by the class of the node that they match, in the order in which they are tried."""

    def __init__(self, *included: RuleTable):
        super().__init__("rules")
        for table in included:
            for operator, rules in table.items():
                self._entries.setdefault(operator, []).extend(rules)

    def rule(self, *operators: type[Node]) -> Callable[[Rule[N]], Rule[N]]:
        """Registers a rule for some operators, after those that they have."""

        def register(function: Rule[N]) -> Rule[N]:
            for operator in operators:
                self._entries.setdefault(operator, []).append(function)
            return function

        return register


class ApplyRules(RewritePattern):
    """Applies the first rule of a table that matches."""

    def __init__(self, table: RuleTable):
        self.table = table

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        visit(op)
        for rule in self.table.get(type(op), ()):
            build = Build()
            value = attempt(rule, op, build)
            if value is None:
                build.discard()
                continue
            check_type(op, value)
            for new in build.ops:
                new.location = op.location
            rewriter.replace(op, build.ops, [value])
            return


def attempt(
    rule: Callable[[Any, Build], SSAValue | None], node: Operation, build: Build
) -> SSAValue | None:
    """
    Returns what a rule returns; None if the rule needs to know more about the sizes of the node
    than their symbols tell.
    """
    try:
        return rule(node, build)
    except VerifyException:
        if not has_symbols(node):
            raise
        return None


def has_symbols(op: Operation) -> bool:
    """Returns whether types of operands or results, or properties, depend on symbols."""
    if any(is_symbolic(value.type) for value in (*op.operands, *op.results)):
        return True
    return any(isinstance(value, DimsAttr) for value in op.properties.values())


def expect_static(function: FuncOp) -> None:
    """Raises CompileError if an argument or a result of a graph has a size that is no number."""
    for t in (*function.function_type.inputs, *function.function_type.outputs):
        if isinstance(t, TensorType) and not t.has_static_shape():
            how = "; bind the symbols (glow-bind-symbols)" if is_symbolic(t) else ""
            problem = CompileError(f"expected static shapes, found {t}{how}")
            raise at_operation(problem, function)


def apply_rules(module: ModuleOp, table: RuleTable) -> None:
    """
    Applies the rules of `table` until none matches; nodes without users disappear.

    A worklist holds the nodes to visit: all at first, later those that a rewrite made or touched.
    """
    pattern = GreedyRewritePatternApplier([ApplyRules(table)])
    PatternRewriteWalker(pattern).rewrite_module(module)


def check_type(op: Operation, value: SSAValue) -> None:
    """
    Raises an error if a rule changed the type of a value, because the mistake would show up far
    away.
    """
    if value.type != op.results[0].type:
        raise failure(op, f"a rule made {value.type} of {op.results[0].type}; please report this")


def replace_node(node: Node, ops: Sequence[Operation], value: SSAValue) -> None:
    """
    Puts `ops` before `node` and `value` in the place of its result; hand on name and location.
    """
    block = node.parent
    assert block is not None
    block.insert_ops_before(ops, node)
    old = node.results[0]
    for op in ops:
        op.location = node.location
        if old.name_hint is not None:
            for result in op.results:
                result.name_hint = result.name_hint or old.name_hint
    if value.name_hint is None:
        value.name_hint = old.name_hint
    old.replace_all_uses_with(value)
    node.detach()
    node.erase()


def insert_after_definition(new: Node, value: SSAValue) -> None:
    """Inserts a node directly after the definition of a value, before all its users."""
    if isinstance(value, BlockArgument):
        first = value.block.first_op
        assert first is not None
        value.block.insert_op_before(new, first)
        return
    owner = value.owner
    assert isinstance(owner, Operation)
    assert owner.parent is not None
    owner.parent.insert_op_after(new, owner)


def erase_if_dead(values: Sequence[SSAValue]) -> None:
    """Erases the nodes that made `values` and, in turn, their operands, if nothing uses them."""
    pending = list(values)
    while pending:
        owner = pending.pop().owner
        if not isinstance(owner, Node) or owner.parent is None:
            continue
        if not any(result.first_use for result in owner.results):
            pending += owner.operands
            owner.detach()
            owner.erase()


def tensor_nodes(module: ModuleOp) -> Iterator[Node]:
    """
    Yields the nodes of all graphs in the module, in order: not those on single numbers in stacked
    instructions.

    The list is taken before the first one is yielded, so nodes may be replaced on the way; nodes
    that are gone when their turn comes are left out.
    """
    for op in each(list(module.walk())):
        if isinstance(op, Node) and op.parent is not None:
            if all(isinstance(r.type, TensorType) for r in op.results):
                yield op


def attribute_dictionaries(
    attributes: ArrayAttr[DictionaryAttr] | None, count: int
) -> list[dict[str, Attribute]]:
    """Returns attributes of `count` arguments or results of a function, which may be changed."""
    given = attributes.data if attributes is not None else [DictionaryAttr({})] * count
    return [dict(a.data) for a in given]


def failure(
    op: Operation,
    message: str,
    kind: type[CompileError] = CompileError,
    names: Sequence[str] | None = None,
) -> CompileError:
    """
    Returns an error that names the operation at fault by `names`, by default the names of its
    results.
    """
    if names is None:
        names = [r.name_hint for r in op.results if r.name_hint]
    hints = [f"%{name}" for name in names]
    return at_operation(kind(f"{' '.join([op.name, *hints])}: {message}"), op)


def defining_op(value: SSAValue, kind: type[N]) -> N | None:
    """Returns the node of class `kind` that makes `value`, if one does."""
    return value.owner if isinstance(value.owner, kind) else None


def is_constant(value: SSAValue) -> bool:
    """
    Returns whether a value is known at compile time: a constant, a splat, or a broadcast of one,
    whose size is a number.
    """
    if is_symbolic(value.type):
        return False
    return isinstance(source_of(value).owner, ConstantOp | SplatOp)


def source_of(value: SSAValue) -> SSAValue:
    """Returns the constant or splat from which a known value comes."""
    return value.owner.input if isinstance(value.owner, BroadcastOp) else value


def splat_value(value: SSAValue) -> bool | int | float | None:
    """
    Returns the number that every element of `value` is, if that is easy to see: a splat, or a
    broadcast of a splat or of a small constant whose elements are equal. Of a quantized value, the
    stored number.
    """
    owner = value.owner
    if isinstance(owner, BroadcastOp | ReshapeOp):
        owner = owner.input.owner
    if isinstance(owner, SplatOp):
        return to_python(owner.value)
    if (
        not isinstance(owner, ConstantOp)
        or not 0 < num_elements(shape_of(owner.result.type)) <= SMALL
    ):
        return None
    # as in `constant` above
    from ...semantics.arrays import constant_of

    array = constant_of(owner.result)
    assert array is not None
    if array.tobytes() != array.flat[:1].tobytes() * array.size:
        return None
    number = array.flat[0]
    return float(number) if array.dtype.kind not in "biu" else number.item()


def element_is(value: SSAValue, *kinds: type[Attribute]) -> bool:
    """Returns whether the stored elements of `value` have one of these types."""
    return isinstance(storage_type(element_of(value.type)), kinds)
