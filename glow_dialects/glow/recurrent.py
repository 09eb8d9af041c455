"""
Recurrent layers in one direction. A step of time computes the next state from the last one.

The products of the inputs with their weights, and biases, are computed for all steps together by
other nodes; `input` holds them. The results hold the states before the first step and after each:
with `reverse`, which goes backwards in time, the state before the first step is the last row.

`mask` [T, B] says which steps an element of the batch takes; without it, it takes all. A step that
is not taken leaves the state as it is.

`activations` names the functions of the cell as ONNX does, with their parameters in brackets.
`clip`, unless it is 0, limits what they are given.

With `keeps`, the result has a further part for each gate: what depends on a product with the
weights in each step, in the rows of the states after the step, and zeros beside the states before
the first step. The backward pass reads these instead of computing the products again.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, TensorType, f64, i1
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, var_operand_def

from ..operator import (
    Call,
    expect_float,
    expect_rank,
    expect_shape,
    text_of,
    with_shape,
)
from ..scalar import Expr, arguments, exp, log, maximum, minimum, select, tanh
from .base import Node

_FLAG = IntegerAttr.constr(i1)
_FALSE = IntegerAttr(0, i1)
_NO_CLIP = FloatAttr(0.0, f64)
Function = Callable[[Expr], Expr]


def _sigmoid(x: Expr) -> Expr:
    return 1.0 / (1.0 + exp(-x))


def _softplus(x: Expr) -> Expr:
    # large powers would overflow
    return maximum(x, 0.0) + log(exp(minimum(-x, x)) + 1.0)


_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Function]]] = {
    "Relu": (0, lambda: lambda x: maximum(x, 0.0)),
    "Tanh": (0, lambda: tanh),
    "Sigmoid": (0, lambda: _sigmoid),
    "Softsign": (0, lambda: lambda x: x / (1.0 + abs(x))),
    "Softplus": (0, lambda: _softplus),
    "Affine": (2, lambda a, b: lambda x: a * x + b),
    "LeakyRelu": (1, lambda a: lambda x: select(x >= 0, x, a * x)),
    "ThresholdedRelu": (1, lambda a: lambda x: select(x >= a, x, 0.0)),
    "ScaledTanh": (2, lambda a, b: lambda x: a * tanh(b * x)),
    "HardSigmoid": (2, lambda a, b: lambda x: maximum(0.0, minimum(1.0, a * x + b))),
    "Elu": (1, lambda a: lambda x: select(x >= 0, x, a * (exp(x) - 1.0))),
}
"""The number of parameters of a function, and what makes it of them."""


def parameters_of(function: str) -> int | None:
    """Returns how many parameters a function of a cell has; None if there is none of that name."""
    return _FUNCTIONS[function][0] if function in _FUNCTIONS else None


def _function(call: Call, text: str) -> Function:
    name, _, rest = text.partition("(")
    numbers = rest.removesuffix(")").split(",") if rest else []
    try:
        given = [float(n) for n in numbers]
    except ValueError:
        raise call.fail(f"expected numbers in brackets, found {text!r}") from None
    if parameters_of(name) != len(given):
        known = ", ".join(f"{f} ({n})" for f, (n, _) in _FUNCTIONS.items())
        raise call.fail(f"expected one of {known} with so many numbers, found {text!r}")
    return _FUNCTIONS[name][1](*given)


class Recurrent(Node, abc.ABC):
    """
    The base of recurrent layers of H states.

    `weights` may be in panels [P, H, W] of W columns, as `glow-pack-weights` makes them: those of
    each product with the states start with a panel of their own.
    """

    STATES: ClassVar[int]
    PRODUCTS: ClassVar[tuple[int, ...]]
    """The gates whose columns of the weights a step multiplies together, in order."""
    ROWS: ClassVar[int]
    """Of parameters with one number for each element of the state."""
    ACTIVATIONS: ClassVar[int]

    @classmethod
    def functions(cls, call: Call) -> list[Function]:
        """Returns the functions of a cell, after what they are given is limited."""
        text = text_of(call.properties["activations"])
        names = (text or "").split()
        if len(names) != cls.ACTIVATIONS:
            raise call.fail(f"expected {cls.ACTIVATIONS} activations, found {text!r}")
        clip = call.float("clip")
        found = [_function(call, name) for name in names]
        if not clip:
            return found
        return [lambda x, f=f: f(maximum(-clip, minimum(clip, x))) for f in found]

    @classmethod
    @abc.abstractmethod
    def cell(cls, call: Call) -> Sequence[Expr]:
        """Returns the next states, of what the gates are given, last states, and parameters."""

    @classmethod
    @abc.abstractmethod
    def kept(cls) -> Sequence[Expr]:
        """Returns what depends on products with the weights, of the arguments of `cell`."""

    @classmethod
    def written(cls, call: Call) -> Sequence[Expr]:
        """Returns all parts of the result after a step, of the arguments of `cell`."""
        return [*cls.cell(call), *(cls.kept() if call.get("keeps") else ())]

    @classmethod
    def gates(cls) -> int:
        """Returns the number of gates."""
        return sum(cls.PRODUCTS)

    @classmethod
    def columns(cls, hidden: int) -> list[int]:
        """Returns how many columns the weights of each product have."""
        return [gates * hidden for gates in cls.PRODUCTS]

    @classmethod
    def panels(cls, hidden: int, width: int) -> list[int]:
        """Returns how many panels of some width they have."""
        return [-(-columns // width) for columns in cls.columns(hidden)]

    @classmethod
    def infer(cls, call: Call) -> Sequence[Attribute]:
        expect_float(call)
        steps, batch, width = expect_rank(call, 0, 3, "an input")
        if width % cls.gates() or not steps:
            raise call.fail(
                f"expected steps of {cls.gates()} equal parts, found input {call.operands[0]}"
            )
        hidden = width // cls.gates()
        if len(call.shape(1)) == 3 and (panel := call.shape(1)[2]):
            expect_shape(call, 1, (sum(cls.panels(hidden, panel)), hidden, panel), "panels")
        else:
            expect_shape(call, 1, (hidden, width), "weights")
        expect_shape(call, 2, (cls.STATES, batch, hidden), "initial states")
        fixed = 3
        if cls.ROWS:
            expect_shape(call, 3, (cls.ROWS, hidden), "parameters")
            fixed = 4
        for i in range(1, fixed):
            if call.element(i) != call.element(0):
                raise call.fail(
                    f"expected operand {i} with elements {call.element(0)}, found "
                    f"{call.operands[i]}"
                )
        masks = len(call.operands) - fixed
        if masks > 1:
            raise call.fail(f"expected at most one mask, found {masks}")
        if masks:
            expect_shape(call, fixed, (steps, batch), "a mask")
            if call.element(fixed) != i1:
                raise call.fail(f"expected a mask of i1, found {call.operands[fixed]}")
        cls.functions(call)
        parts = cls.STATES + (cls.gates() if call.get("keeps") else 0)
        return (with_shape(call.element(0), [parts, steps + 1, batch, hidden]),)


@irdl_op_definition
class LstmOp(Recurrent):
    """
    Long short-term memory (Hochreiter and Schmidhuber 1997) with peepholes, as ONNX `LSTM`.

    `input` [T, B, 4 H] and `weights` [H, 4 H] have the parts i, o, f, c; `initial` [2, B, H] is the
    hidden state and the cell; `peepholes` [3, H] are for i, o, f. The result [2, T + 1, B, H] holds
    hidden states and cells. With `input_forget`, f is 1 - i.

    ```mlir
    %r = glow.lstm %x, %w, %initial, %peepholes
       : (tensor<5x1x12xf32>, tensor<3x12xf32>, tensor<2x1x3xf32>, tensor<3x3xf32>)
       -> tensor<2x6x1x3xf32>
    ```
    """

    name = "glow.lstm"
    STATES: ClassVar[int] = 2
    PRODUCTS: ClassVar[tuple[int, ...]] = (4,)
    ROWS: ClassVar[int] = 3
    ACTIVATIONS: ClassVar[int] = 3

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    initial = operand_def(TensorType)
    peepholes = operand_def(TensorType)
    mask = var_operand_def(TensorType)
    activations = prop_def(StringAttr, default_value=StringAttr("Sigmoid Tanh Tanh"))
    clip = prop_def(FloatAttr, default_value=_NO_CLIP)
    input_forget = prop_def(_FLAG, default_value=_FALSE)
    reverse = prop_def(_FLAG, default_value=_FALSE)
    keeps = prop_def(_FLAG, default_value=_FALSE)
    result = result_def(TensorType)

    @classmethod
    def cell(cls, call: Call) -> Sequence[Expr]:
        """
        Returns the next hidden state and cell, of what the gates i, o, f, c are given, the last
        cell, and the peepholes of i, o, f.
        """
        f, g, h = cls.functions(call)
        i, o, forget, c, last, pi, po, pf = arguments(8)
        i = f(i + pi * last)
        kept = 1.0 - i if call.get("input_forget") else f(forget + pf * last)
        cell = kept * last + i * g(c)
        return f(o + po * cell) * h(cell), cell

    @classmethod
    def kept(cls) -> Sequence[Expr]:
        return arguments(8)[:4]


@irdl_op_definition
class GruOp(Recurrent):
    """
    Gated recurrent unit (Cho et al. 2014), as ONNX `GRU`.

    `input` [T, B, 3 H] and `weights` [H, 3 H] have the parts z, r, h; `initial` is [1, B, H];
    `bias` [1, H] is added to the product of the state with the weights of h. With `reset_after`,
    the reset gate applies to that sum, not to the state before (ONNX: linear_before_reset). The
    result is [1, T + 1, B, H].

    ```mlir
    %r = glow.gru %x, %w, %initial, %bias
       : (tensor<5x1x9xf32>, tensor<3x9xf32>, tensor<1x1x3xf32>, tensor<1x3xf32>)
       -> tensor<1x6x1x3xf32>
    ```
    """

    name = "glow.gru"
    STATES: ClassVar[int] = 1
    PRODUCTS: ClassVar[tuple[int, ...]] = (2, 1)
    ROWS: ClassVar[int] = 1
    ACTIVATIONS: ClassVar[int] = 2

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    initial = operand_def(TensorType)
    bias = operand_def(TensorType)
    mask = var_operand_def(TensorType)
    activations = prop_def(StringAttr, default_value=StringAttr("Sigmoid Tanh"))
    clip = prop_def(FloatAttr, default_value=_NO_CLIP)
    reset_after = prop_def(_FLAG, default_value=_FALSE)
    reverse = prop_def(_FLAG, default_value=_FALSE)
    keeps = prop_def(_FLAG, default_value=_FALSE)
    result = result_def(TensorType)

    @classmethod
    def reset(cls, call: Call) -> Expr:
        """
        Returns the state after the reset gate, of what that gate is given, and the last state.
        """
        f, _ = cls.functions(call)
        r, last = arguments(2)
        return f(r) * last

    @classmethod
    def cell(cls, call: Call) -> Sequence[Expr]:
        """
        Returns the next state, of the product for h, what z, r and h are given, the bias, and the
        last state.
        """
        f, g = cls.functions(call)
        product, z, r, h, bias, last = arguments(6)
        added = product + bias
        update = f(z)
        new = g(h + f(r) * added if call.get("reset_after") else h + added)
        return [(1.0 - update) * new + update * last]

    @classmethod
    def kept(cls) -> Sequence[Expr]:
        return arguments(6)[:3]


@irdl_op_definition
class RnnOp(Recurrent):
    """
    A layer whose next state is a function of the sum of `input` [T, B, H] and the product of the
    last state with `weights` [H, H] (ONNX `RNN`). `initial` is [1, B, H], the result [1, T + 1, B,
    H].

    ```mlir
    %r = glow.rnn %x, %w, %initial
       : (tensor<5x1x3xf32>, tensor<3x3xf32>, tensor<1x1x3xf32>) -> tensor<1x6x1x3xf32>
    ```
    """

    name = "glow.rnn"
    STATES: ClassVar[int] = 1
    PRODUCTS: ClassVar[tuple[int, ...]] = (1,)
    ROWS: ClassVar[int] = 0
    ACTIVATIONS: ClassVar[int] = 1

    input = operand_def(TensorType)
    weights = operand_def(TensorType)
    initial = operand_def(TensorType)
    mask = var_operand_def(TensorType)
    activations = prop_def(StringAttr, default_value=StringAttr("Tanh"))
    clip = prop_def(FloatAttr, default_value=_NO_CLIP)
    reverse = prop_def(_FLAG, default_value=_FALSE)
    keeps = prop_def(_FLAG, default_value=_FALSE)
    result = result_def(TensorType)

    @classmethod
    def cell(cls, call: Call) -> Sequence[Expr]:
        """Returns the next state, of the product of the last one, and the input."""
        (f,) = cls.functions(call)
        return [f(total) for total in cls.kept()]

    @classmethod
    def kept(cls) -> Sequence[Expr]:
        product, x = arguments(2)
        return [product + x]
