"""Derivatives of models: a graph that computes gradients as well, ready to compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from .context import make_context
from .loading import load_model
from .model_forms import Model
from .passes.graph.differentiate import REVERSE, DifferentiatePass
from .passes.visited_operation import run_pass


def differentiate(
    model: Model,
    wrt: Sequence[str] = (),
    of: str = "",
    mode: str = REVERSE,
    seed: bool = False,
    symbols: Mapping[str, int] | None = None,
) -> ModuleOp:
    """
    Returns the graph of a model with derivatives, in a form that `glow.compile` takes.

    - `model`: in any form that `glow.compile` takes.
    - `wrt`: the names of inputs and weights with respect to which it differentiates; by default,
      all inputs of floats.
    - `of`: the output to differentiate; by default, the first one.
    - `mode`: `vjp` adds an output `grad.NAME` for each name in `wrt`, of its shape and dtype. `jvp`
      adds an input `tangent.NAME` for each, and an output `tangent.NAME` for each output.
    - `seed`: whether an output of more than one element has its adjoint from a further input
      `seed.NAME`.
    - `symbols`: sizes of symbolic dimensions by name.

    Raises CompileError for names that do not exist, an output that is no scalar, and an operator
    that has no derivative; ModelError and UnsupportedError as `glow.compile` does.
    """
    module = load_model(model, symbols)
    run_pass(DifferentiatePass(tuple(wrt), of, mode, seed), make_context(), module)
    return module
