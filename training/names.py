"""Names of what a trainer adds to the inputs and states of a network."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..nn.tensor import RANDOM

GRADIENT = "gradient"
"""Before the name of a parameter, the kind of its sum of gradients."""
SHARE = "share"
"""The name of the number that is a process's share of the examples of a batch."""


class OwnNames:
    """
    The names of random numbers, of the numbers of an optimizer, and of what is kept for each
    parameter. None of them is the name of a parameter: if one would be, all begin with `trainer.`.
    """

    def __init__(
        self,
        parameters: Collection[str],
        trained: Collection[str],
        numbers: Iterable[str],
        kept: Iterable[str],
    ):
        """
        `numbers` are the names of those of an optimizer, and `kept` what it keeps for each of the
        parameters that are trained.
        """
        self._prefix = ""
        plain = {RANDOM, *(self.number(n) for n in (SHARE, *numbers))}
        plain |= {self.of(kind, name) for kind in (GRADIENT, *kept) for name in trained}
        while any(self._prefix + name in parameters for name in plain):
            self._prefix = f"trainer.{self._prefix}"
        self.all = frozenset(self._prefix + name for name in plain)
        self.random = self._prefix + RANDOM
        self.share = self.number(SHARE)

    def number(self, name: str) -> str:
        """Returns the name of the input with a number that changes from step to step."""
        return f"{self._prefix}number.{name}"

    def of(self, kind: str, parameter: str) -> str:
        """Returns the name of what is kept for a parameter, such as its sum of gradients."""
        return f"{self._prefix}{kind}.{parameter}"

    def gradient(self, parameter: str) -> str:
        """Returns the name of the sum of gradients of a parameter."""
        return self.of(GRADIENT, parameter)
