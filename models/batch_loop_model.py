"""Networks with one program for batches of any size up to a maximum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..errors import GlowError, ValuesNeededError
from ..interface.backend import Backend
from ..interface.destinations import Outputs
from ..interface.signature import Signature, TensorInfo
from ..interface.symbols import DerivedSize, SizeRange, checked_sizes
from ..runtime.buckets import cut, padded
from .compiled_model import CompiledModel
from .several_programs import SeveralPrograms
from .specialization import SpecializationRules, SymbolicModel


class BatchLoopModel(SymbolicModel):
    """
    A network with symbolic dimensions whose programs compute the images of a batch in a loop.

    The symbol of the batch has no specializations: a program has memory for the inputs and outputs
    of the largest batch, and takes the number of images as another input. Other symbols have a
    program for each size, as usual.
    """

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
        batch, whose last input is the number of images. `symbol` is the name of the batch.

        Raises GlowError if `rules` have no largest size for the batch, and unless it is dimension 0
        of all inputs and outputs, and of nothing else.
        """
        self._symbol = symbol
        super().__init__(backend, signature, fixed, lambda sizes, _: compile(sizes), rules)
        self._binding.expect_symbol(symbol)
        self._largest = _largest(rules.ranges, symbol)
        self._place = self._binding.symbols.index(symbol)
        for kind, infos in (("input", signature.inputs), ("output", signature.outputs)):
            for info in infos:
                _expect_batch(kind, info, symbol)

    def _of_largest(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the sizes of symbols with the largest batch."""
        return (*sizes[: self._place], self._largest, *sizes[self._place + 1 :])

    def _key(self, sizes: Mapping[str, int] | None) -> tuple[int, ...]:
        given = {self._symbol: self._largest, **checked_sizes(sizes)}
        return self._of_largest(super()._key(given))

    def _specialized(self, sizes: tuple[int, ...], inputs: Sequence[np.ndarray]) -> CompiledModel:
        try:
            return self._kept.get((self._of_largest(sizes), ()))
        except ValuesNeededError as error:
            raise GlowError(
                f"batch_loop: the values of {', '.join(error.inputs)} decide shapes, so there is "
                "no program for all sizes of a batch; leave out batch_loop"
            ) from error

    def _run_exactly(
        self, sizes: tuple[int, ...], inputs: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        found = super()._run_exactly(sizes, inputs)
        return cut(found, self._signature.outputs, self._by_name(sizes))

    def _program_inputs(
        self, sizes: tuple[int, ...], inputs: Sequence[np.ndarray]
    ) -> Sequence[np.ndarray]:
        wide = self._by_name(self._of_largest(sizes))
        count = np.array(sizes[self._place], np.int64)
        return [*padded(inputs, self._signature.inputs, wide), count]

    def compute_into(self, inputs: Sequence[np.ndarray], outputs: Outputs) -> None:
        SeveralPrograms.compute_into(self, inputs, outputs)


def _largest(ranges: Mapping[str, SizeRange], symbol: str) -> int:
    """Returns the size of the largest batch, 2 or more. Raises GlowError if there is none."""
    if symbol not in ranges or ranges[symbol].high < 2:
        raise GlowError(
            f"batch_loop: memory is planned for the largest batch; give the sizes that it may "
            f'have, such as symbols={{"{symbol}": (1, 64)}}'
        )
    return ranges[symbol].high


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
