"""A network in two programs: the second one is compiled for results of the first one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..interface.signature import Signature, TensorInfo
from .compiled_model import CompiledModel
from .several_programs import ProgramsInTurn, Run, Turns

if TYPE_CHECKING:
    import numpy as np


class _Parts(Turns):
    """The programs of both parts as one."""

    def __init__(self, first: CompiledModel, rest: CompiledModel, outputs: Sequence[str]):
        self._first = first
        self._rest = rest
        self._outputs = outputs
        self._inputs = [info.name for info in first.get_inputs()]
        self._found = [info.name for info in first.get_outputs()]
        self._needed = [info.name for info in rest.get_inputs()]
        self._results = [info.name for info in rest.get_outputs()]

    def run_with(self, run: Run, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        values = dict(zip(self._inputs, inputs, strict=True))
        values |= zip(self._found, run(self._first, inputs), strict=True)
        given = self._rest.arrays({name: values[name] for name in self._needed})
        values |= zip(self._results, run(self._rest, given), strict=True)
        return [values[name] for name in self._outputs]


class CutModel(ProgramsInTurn):
    """
    A network with shapes that follow from values which it computes.

    It is cut at these values. `parts` are the models before and after the cut. The second one is
    compiled for the sizes and values that the first one computes; it is a model with symbolic
    dimensions or deciding inputs. Facts about a program belong to a part.
    """

    PLACES = ("model.parts[0]", "model.parts[1]")

    def __init__(self, first: CompiledModel, rest: CompiledModel, outputs: Sequence[TensorInfo]):
        self.parts = (first, rest)
        """The models before and behind the cut."""
        program = _Parts(first, rest, [info.name for info in outputs])
        signature = Signature(tuple(first.get_inputs()), tuple(outputs))
        backend, sizes = first.backend, first._sizes
        super().__init__(backend, program, signature, sizes)

    def __repr__(self) -> str:
        names = ", ".join(info.name for info in self.parts[0].get_outputs())
        return f"{super().__repr__()[:-1]}; cut at {names}>"

    def activation_bytes(self) -> int:
        return self.parts[0].activation_bytes()
