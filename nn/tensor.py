"""
Graphs that Python builds: tensors with arithmetic, and the function that they are in.

A tensor is a value of the graph dialect. Operators on it append nodes to the function, so that a
Python function of tensors is a description of a network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..errors import GlowError
from ..glow_dialects.elements import tensor_type
from ..glow_dialects.glow.arithmetic import AddOp, DivOp, MulOp, NegOp, PowOp, SubOp
from ..glow_dialects.glow.base import Node
from ..glow_dialects.glow.generic import GenericOp
from ..glow_dialects.glow.logic import CastOp
from ..glow_dialects.glow.matrix import MatMulOp
from ..glow_dialects.glow.reduction import ReduceMeanOp, ReduceSumOp, Reduction
from ..glow_dialects.glow.shape import SliceOp, TransposeOp
from ..glow_dialects.operator import element_of, shape_of
from ..glow_dialects.python_values import to_attribute
from ..passes.graph.adjoints import Parameter as Differentiated
from ..passes.graph.adjoints import gradients
from ..passes.graph.rewriting import Build
from ..passes.graph.states import set_named_states
from ..semantics.arrays import interface_dtype, make_constant
from ..wording import free_name
from .arguments import (
    Described,
    Number,
    Spec,
    axis_of,
    common_shape,
    element_named,
    number_of,
    sizes_of,
    spec_of,
)

if TYPE_CHECKING:
    from .parameters import Parameter

NAME = "glow.name"
RANDOM = "random"
"""The name of the input with the key of random numbers, and the number of the step."""


class Graph(Build):
    """A function that is being built. Nodes are appended to its block."""

    def __init__(
        self,
        block: Block | None = None,
        training: bool = False,
        names: Mapping[Parameter, str] | None = None,
        random: str = RANDOM,
    ):
        """
        `block` may have nodes already; `names` are those of the parameters that modules use, and
        `training` says whether modules behave as they do during training. `random` is what the
        input that random numbers follow from is called, unless another input has this name.
        """
        super().__init__()
        self.block = Block() if block is None else block
        self.training = training
        self.inputs: dict[str, Tensor] = {}
        self.parameters: dict[str, Tensor] = {}
        """The constants of the parameters that are used, by name."""
        self.updates: dict[str, Tensor] = {}
        """The new values of parameters that change without a gradient, such as running means."""
        self.random_state: Tensor | None = None
        """The input that random numbers follow from, if there are any."""
        self.about: dict[str, Mapping[str, Attribute]] = {}
        """Further attributes of inputs, by name."""
        self.verdicts: list[tuple[Tensor, DictionaryAttr]] = []
        """Results behind the outputs that say whether those are valid, with their attributes."""
        self.randoms = 0
        """The number of nodes that draw random numbers so far."""
        self.only_for_training: set[Operation] = set()
        """The nodes that the network does not have after training."""
        self._aside = False
        self._names = dict(names or {})
        self._random = random

    def append(self, op: Operation) -> None:
        self.block.add_op(op)
        if self._aside:
            self.only_for_training.add(op)

    @contextmanager
    def for_training(self) -> Iterator[None]:
        """
        Notes the nodes that are appended meanwhile as those that the network does not have after
        training, such as the statistics of a batch. Quantization-aware training needs to know them.
        """
        before, self._aside = self._aside, True
        try:
            yield
        finally:
            self._aside = before

    def node(self, operator: type[Node], *operands: Tensor, **properties: Any) -> Tensor:
        """
        Returns the result of a node on tensors. Raises GlowError if they do not fit the operator,
        or it has no property of such a name.
        """
        known = operator.get_irdl_definition().properties
        if unknown := [name for name in properties if name not in (*known, "result_types")]:
            raise GlowError(f"{operator.name} has no property called {', '.join(unknown)}")
        try:
            return Tensor(self, self(operator, *(o.value for o in operands), **properties))
        except VerifyException as problem:
            raise GlowError(f"{operator.name}: {problem}") from None

    def input(self, name: str, described: Described) -> Tensor:
        """Returns a new input."""
        if name in self.inputs:
            raise GlowError(f"there are two inputs called {name!r}")
        spec = spec_of(name, described)
        t = tensor_type(element_named(spec.dtype), spec.shape)
        value = self.block.insert_arg(t, len(self.block.args))
        value.name_hint = _hint(name)
        self.inputs[name] = Tensor(self, value)
        return self.inputs[name]

    def random_input(self) -> Tensor:
        """
        Returns the input that random numbers follow from: their key and the number of the step,
        ui32[3].
        """
        if self.random_state is None:
            name = free_name(self._random, self.inputs)
            self.random_state = self.input(name, Spec((3,), "uint32"))
        return self.random_state

    def parameter(self, parameter: Parameter) -> Tensor:
        """Returns the value of a parameter of the network that is built."""
        name = self._names.get(parameter)
        if name is None:
            raise GlowError(
                f"a parameter of shape {parameter.shape} belongs to no module that is built; "
                "keep it in an attribute of a module"
            )
        if name not in self.parameters:
            self.parameters[name] = self.array(parameter.array, name)
        return self.parameters[name]

    def array(self, array: np.ndarray, name: str = "") -> Tensor:
        """Returns a constant. The array must not be changed while the graph is in use."""
        node = make_constant(array, _hint(name or "constant"))
        if name:
            node.result.name_hint = _hint(name)
            node.attributes[NAME] = StringAttr(name)
        return Tensor(self, self.add(node))

    def number(self, number: Number, like: Tensor, shape: Sequence[int] | None = None) -> Tensor:
        """
        Returns a tensor with the same number everywhere, of the element type of another one, and of
        its shape unless `shape` says another. Raises GlowError for a number that the type lacks.
        """
        t = tensor_type(like.element, like.shape if shape is None else shape)
        return Tensor(self, self.splat(number_of(number, like.element), t))

    def update(self, parameter: Parameter, value: Tensor) -> None:
        """Says which value a parameter without a gradient has after the step."""
        self.updates[self._names[parameter]] = value

    def gradients(self, loss: Tensor, of: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """
        Returns the gradient of a loss with respect to tensors by name; those on which it does not
        depend are left out.

        Raises GlowError for a loss that is no scalar, and CompileError for an operator that has no
        derivative.
        """
        if prod(loss.shape) != 1:
            raise GlowError(
                f"expected a loss of one element, found one of shape {list(loss.shape)}; "
                "reduce it, with `mean` for example"
            )
        wanted = [Differentiated(name, tensor.value) for name, tensor in of.items()]
        one = self.splat(1.0, loss.value.type)
        found = gradients(self.block, [(loss.value, one)], wanted, self)
        named = zip(of, found, strict=True)
        return {name: Tensor(self, value) for name, value in named if value is not None}

    def formula(
        self,
        text: str,
        *operands: Tensor,
        shape: Sequence[int] | None = None,
        element: Attribute | None = None,
        **constants: float | Sequence[int],
    ) -> Tensor:
        """
        Returns the result of a formula on operands in the order in which it first reads them.
        `shape` and `element` are those of the result, where they do not follow from the formula.
        """
        properties: dict[str, Attribute] = {"formula": to_attribute(text)}
        if constants:
            named = {name: to_attribute(value) for name, value in constants.items()}
            properties["constants"] = DictionaryAttr(named)
        types = [o.value.type for o in operands]
        try:
            result = GenericOp.result_type(types, properties, shape, element)
        except VerifyException as problem:
            raise GlowError(f"{text}: {problem}") from None
        return self.node(GenericOp, *operands, result_types=[result], **properties)

    def finish(
        self,
        outputs: Mapping[str, Tensor],
        name: str = "main",
        states: Mapping[str, str] | None = None,
    ) -> ModuleOp:
        """
        Returns the module of the function with these outputs. `states` are inputs that keep a value
        between calls, by name, with the outputs that are their next values.
        """
        values = [t.value for t in (*outputs.values(), *(t for t, _ in self.verdicts))]
        self.block.add_op(func.ReturnOp(*values))
        function = func.FuncOp(
            "main",
            FunctionType.from_lists(list(self.block.arg_types), [v.type for v in values]),
            Region(self.block),
            arg_attrs=ArrayAttr([_named(name, self.about.get(name)) for name in self.inputs]),
            res_attrs=ArrayAttr([*map(_named, outputs), *(about for _, about in self.verdicts)]),
        )
        function.attributes["glow.model"] = StringAttr(name)
        if states:
            set_named_states(function, states)
        return ModuleOp([function])


class Tensor:
    """A value of a graph that is being built."""

    __array_ufunc__ = None
    """numpy leaves operators on an array, or a number of its own, and a tensor to the tensor."""

    def __init__(self, graph: Graph, value: SSAValue):
        self.graph = graph
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.value.type)

    @property
    def element(self) -> Attribute:
        """The element type."""
        return element_of(self.value.type)

    @property
    def dtype(self) -> np.dtype:
        return interface_dtype(self.element)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        return f"<Tensor {self.dtype.name}{list(self.shape)}>"

    def __add__(self, other: Tensor | Number) -> Tensor:
        return elementwise(AddOp, self, other)

    def __radd__(self, other: Number) -> Tensor:
        return elementwise(AddOp, other, self)

    def __sub__(self, other: Tensor | Number) -> Tensor:
        return elementwise(SubOp, self, other)

    def __rsub__(self, other: Number) -> Tensor:
        return elementwise(SubOp, other, self)

    def __mul__(self, other: Tensor | Number) -> Tensor:
        return elementwise(MulOp, self, other)

    def __rmul__(self, other: Number) -> Tensor:
        return elementwise(MulOp, other, self)

    def __truediv__(self, other: Tensor | Number) -> Tensor:
        return elementwise(DivOp, self, other)

    def __rtruediv__(self, other: Number) -> Tensor:
        return elementwise(DivOp, other, self)

    def __pow__(self, other: Tensor | Number) -> Tensor:
        return elementwise(PowOp, self, other)

    def __neg__(self) -> Tensor:
        return elementwise(NegOp, self)

    def __matmul__(self, other: Tensor) -> Tensor:
        """Returns the product of matrices [..., I, K] and [..., K, J]."""
        lead = common_shape(self.shape[:-2], other.shape[:-2])
        left = self.broadcast([*lead, *self.shape[-2:]])
        right = other.broadcast([*lead, *other.shape[-2:]])
        return self.graph.node(MatMulOp, left, right)

    def reshape(self, *shape: int) -> Tensor:
        """Returns the same elements with another shape; one size may be -1."""
        count = prod(self.shape)
        known = prod(sizes_of([n for n in shape if n != -1], "reshape"))
        rest = count // known if known else 0
        sizes = [rest if n == -1 else n for n in shape]
        if shape.count(-1) > 1 or prod(sizes) != count:
            raise GlowError(f"expected a shape of {count} elements, found {list(shape)}")
        return Tensor(self.graph, self.graph.reshape(self.value, sizes))

    def broadcast(self, shape: Sequence[int]) -> Tensor:
        """Returns the tensor repeated to a shape, by numpy's rules."""
        return Tensor(self.graph, self.graph.broadcast(self.value, shape))

    def transpose(self, *order: int) -> Tensor:
        """Returns the tensor with its dimensions in another order."""
        return self.graph.node(TransposeOp, self, permutation=list(order))

    def slice(self, starts: Sequence[int], sizes: Sequence[int]) -> Tensor:
        """Returns the part of `sizes` that begins at `starts`."""
        return self.graph.node(SliceOp, self, starts=starts, sizes=sizes)

    def cast(self, dtype: np.dtype | type | str) -> Tensor:
        """Returns the elements converted to another dtype."""
        element = element_named(dtype)
        if element == self.element:
            return self
        return self.graph.node(CastOp, self, result_types=[tensor_type(element, self.shape)])

    def sum(self, axes: Sequence[int] | None = None, keep_dims: bool = False) -> Tensor:
        """Returns the sums along some dimensions, by default all."""
        return self._reduced(ReduceSumOp, axes, keep_dims)

    def mean(self, axes: Sequence[int] | None = None, keep_dims: bool = False) -> Tensor:
        """Returns the means along some dimensions, by default all."""
        return self._reduced(ReduceMeanOp, axes, keep_dims)

    def _reduced(
        self, operator: type[Reduction], axes: Sequence[int] | None, keep_dims: bool
    ) -> Tensor:
        chosen = range(self.rank) if axes is None else sorted(axis_of(a, self.rank) for a in axes)
        return self.graph.node(operator, self, axes=list(chosen), keep_dims=keep_dims)


def elementwise(operator: type[Node], *operands: Tensor | Number, **properties: Any) -> Tensor:
    """
    Returns a node that computes each element by itself, on tensors that are broadcast to each other
    by numpy's rules, and on numbers.
    """
    like = next(o for o in operands if isinstance(o, Tensor))
    shape = common_shape(*(o.shape for o in operands if isinstance(o, Tensor)))
    spread = [
        o.broadcast(shape) if isinstance(o, Tensor) else like.graph.number(o, like, shape)
        for o in operands
    ]
    return like.graph.node(operator, *spread, **properties)


def _hint(name: str) -> str:
    """Returns a name that a value of the graph may have."""
    clean = "".join(c if (c.isalnum() and c.isascii()) or c in "._" else "_" for c in name)
    return clean if clean[:1].isalpha() else f"p{clean}"


def _named(name: str, about: Mapping[str, Attribute] | None = None) -> DictionaryAttr:
    return DictionaryAttr({**(about or {}), NAME: StringAttr(name)})
