"""Networks with one program for all sizes of a symbol up to a maximum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..errors import GlowError, ValuesNeededError
from ..interface.backend import Backend
from ..interface.destinations import Outputs
from ..interface.signature import Signature, TensorInfo
from ..interface.symbols import DerivedSize, SizeRange, checked_sizes
from .compiled_model import CompiledModel
from .several_programs import SeveralPrograms
from .specialization import SpecializationRules, SymbolicModel


class OneProgramModel(SymbolicModel):
    """
    A network with symbolic dimensions whose programs take the size of a symbol as an input.

    The symbol has no specializations: a program has memory for its largest size. Other symbols have
    a program for each size, as usual.
    """

    OPTION: ClassVar[str]
    """The keyword of `glow.compile` that names the symbol."""
    LEAST: ClassVar[int] = 2
    """The smallest size that a program has memory for."""

    def __init__(
        self,
        backend: Backend,
        signature: Signature,
        fixed: Mapping[str, int],
        compile: Callable[[Mapping[str, int]], CompiledModel],
        rules: SpecializationRules,
        symbol: str,
    ):
        """
        The arguments are those of `SymbolicModel`. `compile` makes the program of the largest
        size, whose last input is the size. `symbol` is the name of the symbol.

        Raises GlowError if `rules` have no largest size for the symbol.
        """
        self._symbol = symbol
        super().__init__(backend, signature, fixed, lambda sizes, _: compile(sizes), rules)
        self._binding.expect_symbol(symbol)
        self._largest = self._largest_in(rules.ranges)
        self._place = self._binding.symbols.index(symbol)
        self._expect_shapes()

    def _expect_shapes(self) -> None:
        """Raises GlowError if no such program computes inputs and outputs of these shapes."""

    def _largest_in(self, ranges: Mapping[str, SizeRange]) -> int:
        """Returns the largest size, 2 or more. Raises GlowError if there is none."""
        symbol = self._symbol
        if symbol not in ranges or ranges[symbol].high < 2:
            raise GlowError(
                f"{self.OPTION}: memory is planned for the largest size; give the sizes that "
                f'{symbol} may have, such as symbols={{"{symbol}": (1, 64)}}'
            )
        return max(ranges[symbol].high, self.LEAST)

    def _of_largest(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the sizes of symbols with the largest of the symbol."""
        return (*sizes[: self._place], self._largest, *sizes[self._place + 1 :])

    def _key(self, sizes: object) -> tuple[int, ...]:
        given = {self._symbol: self._rules.ranges[self._symbol].high, **checked_sizes(sizes)}
        return self._of_largest(super()._key(given))

    def _specialized(self, sizes: tuple[int, ...], inputs: Sequence[np.ndarray]) -> CompiledModel:
        try:
            return self._kept.get((self._of_largest(sizes), ()))
        except ValuesNeededError as error:
            raise GlowError(
                f"{self.OPTION}: the values of {', '.join(error.inputs)} decide shapes, so there "
                f"is no program for all sizes of {self._symbol}; leave out {self.OPTION}"
            ) from error

    def _run_exactly(
        self, sizes: tuple[int, ...], inputs: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        found = super()._run_exactly(sizes, inputs)
        return self._padding(sizes, self._of_largest(sizes)).cut(found)

    def _program_inputs(
        self, sizes: tuple[int, ...], inputs: Sequence[np.ndarray]
    ) -> Sequence[np.ndarray]:
        padding = self._padding(sizes, self._of_largest(sizes))
        return [*padding.padded(inputs), np.array(sizes[self._place], np.int64)]

    def compute_into(self, inputs: Sequence[np.ndarray], outputs: Outputs) -> None:
        SeveralPrograms.compute_into(self, inputs, outputs)


class BatchLoopModel(OneProgramModel):
    """
    A network whose programs compute the images of a batch in a loop. The batch is dimension 0 of
    all inputs and outputs, and of nothing else.
    """

    OPTION = "batch_loop"

    def _expect_shapes(self) -> None:
        signature = self._outputs
        for kind, infos in (("input", signature.inputs), ("output", signature.outputs)):
            for info in infos:
                _expect_batch(kind, info, self._symbol)


class RowsModel(OneProgramModel):
    """A network whose programs compute as many rows as the inputs of a call have."""

    OPTION = "rows"
    LEAST = 3  # another graph of several rows is compared with it

    def __init__(
        self,
        backend: Backend,
        signature: Signature,
        fixed: Mapping[str, int],
        compile: Callable[
            [Mapping[str, int], Sequence[int], Sequence[str]],
            tuple[CompiledModel, Sequence[Sequence[int]]],
        ],
        rules: SpecializationRules,
        symbol: str,
    ):
        """
        The arguments are those of `OneProgramModel`, but `compile` also takes other sizes of the
        symbol, for which the graph has to be the same, and the dimensions of inputs that have the
        symbol (`"x=1"`). It also returns such dimensions of each output. Also raises GlowError if
        a dimension depends on the symbol and is not it.
        """
        for info in (*signature.inputs, *signature.outputs):
            if any(d != symbol and _names(d, symbol) for d in info.shape):
                raise GlowError(
                    f"rows: expected dimensions that are {symbol} or do not depend on it; "
                    f"{info.name!r} is {info.shape_text}"
                )
        dimensions = [
            f"{info.name}={d}"
            for info in signature.inputs
            for d, size in enumerate(info.shape)
            if size == symbol
        ]

        def limited(sizes: Mapping[str, int]) -> CompiledModel:
            high = sizes[symbol]
            # graphs of very few rows may be simpler
            fewer = tuple(dict.fromkeys((high - 1, (high + 1) // 2)))
            made, rows = compile(sizes, fewer, dimensions)
            key = tuple(sizes[s] for s in self._binding.symbols)
            self._of_programs[key] = self._with_rows(rows)
            return made

        self._of_programs: dict[tuple[int, ...], Sequence[TensorInfo]] = {}
        """The outputs of each program, by the sizes of symbols."""
        super().__init__(backend, signature, fixed, limited, rules, symbol)

    def _program_outputs(self, sizes: tuple[int, ...]) -> Sequence[TensorInfo]:
        key = self._of_largest(sizes)
        if key not in self._of_programs:  # inputs of a bucket are padded before they run
            self._specialized(sizes, ())
        return self._of_programs[key]

    def _with_rows(self, rows: Sequence[Sequence[int]]) -> list[TensorInfo]:
        """Returns the outputs with the symbol at the dimensions of each that are `rows`."""
        # a model may give other names to the sizes of its outputs
        return [
            replace(
                info, shape=[self._symbol if d in dims else n for d, n in enumerate(info.shape)]
            )
            # results that judge indices come behind the outputs
            for info, dims in zip(self._signature.outputs, rows, strict=False)
        ]


def _expect_batch(kind: str, info: TensorInfo, symbol: str) -> None:
    """Raises GlowError unless dimension 0, and no other one, is the batch."""
    if not info.shape or info.shape[0] != symbol or any(_names(d, symbol) for d in info.shape[1:]):
        raise GlowError(
            f"batch_loop: expected dimension 0 of each input and output, and no other one, to be "
            f"{symbol}; {kind} {info.name!r} is {info.shape_text}"
        )


def _names(size: int | str | None, symbol: str) -> bool:
    """Returns whether the size of a dimension depends on a symbol."""
    if isinstance(size, DerivedSize):
        return any(each.name == symbol for each in size.extent.symbols)
    return size == symbol
