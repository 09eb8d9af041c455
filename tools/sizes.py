"""Sizes of the symbolic dimensions of a network that `glow-run` runs: those of its inputs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..interface.symbols import Binding
from .datasets import open_dataset
from .inputs import given_shapes, preprocessing_of

if TYPE_CHECKING:
    from ..models.compiled_model import CompiledModel


def specialized(args: argparse.Namespace, model: CompiledModel) -> CompiledModel:
    """
    Returns the model for the sizes that its symbols have in `--input` and `--data`. Sizes that no
    input gives are 1; a note on stderr reports them. Afterwards `args.define_symbol` has all sizes.
    """
    if None not in model.symbols.values():
        return model
    binding = Binding(model.get_inputs())
    found = binding.known(_shapes(args, model))
    assumed = [name for name in binding.symbols if name not in found]
    if assumed:
        sizes = ", ".join(f"{name}=1" for name in assumed)
        print(
            f"glow-run: note: no input says how large these are: {sizes}; for others use "
            f"--define-symbol {assumed[0]}=SIZE",
            file=sys.stderr,
        )
    chosen = model.specialize({**dict.fromkeys(assumed, 1), **found})
    args.define_symbol = list(chosen.symbols.items())
    return chosen


def _shapes(args: argparse.Namespace, model: CompiledModel) -> Mapping[str, Sequence[int | None]]:
    """
    Returns the shapes of inputs that are given, by name; None for sizes that they do not decide.
    """
    infos, preprocessing = model.get_inputs(), preprocessing_of(args)
    shapes = given_shapes(args.input, infos, preprocessing)
    if args.data is None or args.input:
        return shapes
    return open_dataset(args.data, infos, preprocessing).shapes()
