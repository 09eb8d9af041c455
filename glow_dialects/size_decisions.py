"""
Decisions about sizes that the ranges of symbols leave open, as they are for certain sizes.

Code that computes with sizes asks whether one is zero or negative, or which number it is. While
`deciding` is in use, the answers are those for the sizes that it is given, and each answer becomes
a condition: what was computed holds for all sizes of symbols for which the conditions hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeAlias


class _Size(Protocol):
    """An extent; `extents` imports this module."""

    def at(self, sizes: Mapping[str, Any]) -> Any: ...


class Question(Enum):
    """A question about a size."""

    IS_ZERO = "== 0"
    IS_NEGATIVE = "< 0"
    NUMBER = "=="


Answer: TypeAlias = "bool | int"


@dataclass(frozen=True)
class Condition:
    """An answer that a size has to give."""

    size: _Size
    question: Question
    answer: Answer

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Returns whether the answer is the same for these sizes of all symbols."""
        return _answer(self.size.at(sizes), self.question) == self.answer

    def __str__(self) -> str:
        if self.question is Question.NUMBER:
            return f"{self.size} == {self.answer}"
        return f"{'' if self.answer else 'not '}{self.size} {self.question.value}"


class Decisions:
    """Decisions for certain sizes of all symbols, and the conditions for others."""

    def __init__(self, sizes: Mapping[str, int]):
        self._sizes = sizes
        self._answers: dict[tuple[_Size, Question], Answer] = {}

    def answer(self, size: _Size, question: Question) -> Any:
        """Returns the answer for the sizes, which becomes a condition."""
        key = (size, question)
        if key not in self._answers:
            self._answers[key] = _answer(size.at(self._sizes), question)
        return self._answers[key]

    @property
    def conditions(self) -> list[Condition]:
        """The conditions so far."""
        return [Condition(*key, answer) for key, answer in self._answers.items()]


def _answer(number: int, question: Question) -> Answer:
    match question:
        case Question.IS_ZERO:
            return number == 0
        case Question.IS_NEGATIVE:
            return number < 0
        case Question.NUMBER:
            return number


_DECISIONS: ContextVar[Decisions | None] = ContextVar("decisions about sizes", default=None)


def decided(size: _Size, question: Question) -> Any:
    """Returns the answer of the decisions in use; None if there are none."""
    decisions = _DECISIONS.get()
    return None if decisions is None else decisions.answer(size, question)


def decisions_in_use() -> Decisions | None:
    """Returns the decisions that `deciding` uses in this thread, if any."""
    return _DECISIONS.get()


@contextmanager
def deciding(decisions: Decisions) -> Iterator[None]:
    """Answers questions about sizes with `decisions` meanwhile, in this thread."""
    token = _DECISIONS.set(decisions)
    try:
        yield
    finally:
        _DECISIONS.reset(token)
