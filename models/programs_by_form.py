"""Programs that are made when calls need them, each for the form of some inputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from ..errors import ValuesNeededError
from .compiled_model import CompiledModel
from .specialization import LatestUsed

Value: TypeAlias = "np.ndarray | list[np.ndarray] | None"
"""A tensor, a sequence, or nothing."""
V = TypeVar("V", bound=Value)


class _Form(Generic[V]):
    """Values of inputs, which are equal if one program serves them."""

    def __init__(
        self,
        values: Mapping[str, V],
        parts: Mapping[str, np.ndarray],
        deciding: Sequence[str],
    ):
        self._values = values
        self.deciding = {name: parts[name] for name in deciding if name in parts}
        shapes = tuple((name, part.shape) for name, part in parts.items())
        known = tuple((name, part.tobytes()) for name, part in self.deciding.items())
        absent = tuple(name for name, value in values.items() if value is None)
        self._key: Hashable = (shapes, known, absent)

    def take_values(self) -> Mapping[str, V]:
        """Returns the values, and forgets them, so that no cache of programs keeps arrays."""
        values, self._values = self._values, {}
        return values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Form) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class ProgramsByForm(Generic[V]):
    """
    Programs for the shapes of inputs, and for the values of those inputs that decide other shapes.

    Compilations tell which inputs these are.
    """

    def __init__(
        self,
        compile: Callable[[Mapping[str, V], Mapping[str, np.ndarray]], CompiledModel],
        limit: int,
    ):
        """
        `compile` makes the model for inputs like the given ones, and for values of some of these,
        or raises ValuesNeededError. At most `limit` models are kept.
        """
        self._deciding: tuple[str, ...] = ()
        self.kept: LatestUsed[_Form[V], CompiledModel] = LatestUsed(
            lambda form: compile(form.take_values(), form.deciding), limit
        )

    def for_inputs(self, values: Mapping[str, V], parts: Mapping[str, np.ndarray]) -> CompiledModel:
        """
        Returns the model for inputs like these, compiled now unless it is there. `parts` are all
        arrays in the values, by the names that they have in the program.
        """
        while True:
            try:
                return self.kept.get(_Form(values, parts, self._deciding))
            except ValuesNeededError as error:
                if set(error.inputs) <= set(self._deciding):
                    raise
                self._deciding = (*self._deciding, *error.inputs)
