"""Decoders whose keys and values stay in memory of a session and grow in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from ..errors import GlowError, InputError
from ..interface.backend import Backend
from ..interface.cache_rows import Rows, axis_in_state
from ..interface.signature import Signature
from ..interface.symbols import Binding
from ..lazy import lazy_property
from ..runtime.buckets import POWERS, bucket_of
from ..runtime.options import at_least_one
from .specialization import LatestUsed, SpecializationRules, SymbolicModel

if TYPE_CHECKING:
    from .cache_programs import CacheProgram, CachePrograms
    from .compiled_model import CompiledModel

LEAST = 32
"""The smallest bucket of powers of two, in rows."""
_LEAST_PAST = 2
"""
The least number of past rows in a program with caches in place. Its graph is compared with that of
one row less, which has past rows as well.
"""
_Key = tuple[tuple[tuple[str, int], ...], int, int]
"""Sizes of other symbols, the number of rows of a cache, and that of new tokens."""


class CachedModel(SymbolicModel):
    """
    A decoder that was exported with past keys and values as inputs and present ones as outputs.

    Sessions keep these in place, in memory for a number of tokens that grows in buckets. A call
    without a session is that of the network as it was exported.
    """

    def __init__(
        self,
        backend: Backend,
        signature: Signature,
        fixed: Mapping[str, int],
        compile: Callable[[Mapping[str, int], Mapping[str, np.ndarray]], CompiledModel],
        rules: SpecializationRules,
        programs: CachePrograms,
    ):
        """
        The first arguments are those of `SymbolicModel`. `programs` makes programs with caches in
        place. Buckets of the `rules` are numbers of rows that caches may have: powers of two if
        there are none, from 32 on.
        """
        past, ranges = programs.symbols.past, dict(rules.ranges)
        if past in ranges:  # caches begin without rows
            ranges[past] = replace(ranges[past], low=0)
        plain = replace(rules, buckets=None, ranges=ranges)
        super().__init__(backend, signature, fixed, compile, plain)
        self.caches = dict(programs.caches)
        """The inputs that are caches, with the outputs that are their next values."""
        self._programs = programs
        self._row_bucket = bucket_of(past, rules.buckets, POWERS)
        self._cached: LatestUsed[_Key, CacheProgram] = LatestUsed(
            lambda key: programs.make(dict(key[0]), Rows(key[1] - key[2], key[2])),
            rules.limit,
        )
        inputs = tuple(info for info in signature.inputs if info.name not in self.caches)
        hidden = self.caches.values()
        self.call_signature = Signature(
            inputs, tuple(info for info in signature.outputs if info.name not in hidden)
        )
        """The inputs and outputs of calls of a session."""

    def session(self, state: Mapping[str, object] | None = None, rows: int = 0) -> CacheSession:  # pyright: ignore[reportIncompatibleMethodOverride]
        """
        Returns a session with caches of its own, without tokens. `rows` is the number of tokens
        that its memory has room for in the beginning; it grows if necessary. Raises GlowError for
        a `state`: caches begin without rows. Raises InputError for `rows` above all buckets.
        """
        if state is not None and not (isinstance(state, Mapping) and not state):
            raise GlowError("caches of a session begin without rows; run it on the first tokens")
        if rows != 0:
            self.bucket(at_least_one("rows", rows))
        return CacheSession(self, rows)

    def bucket(self, rows: int, better: int = 0) -> int:
        """
        Returns the smallest bucket with room for rows, and for `better` rows if the largest bucket
        has it. Raises InputError if no bucket has room for rows.
        """
        sizes = self._row_bucket.sizes
        if not sizes:
            return max(LEAST, self._row_bucket.size_for(max(rows, better)))
        return self._row_bucket.size_for(max(rows, min(better, sizes[-1])))

    def program(self, sizes: Mapping[str, int], rows: int, new: int) -> CacheProgram:
        """
        Returns the program for `new` tokens and caches of `rows` rows, compiled now unless it is
        there; `sizes` are those of the other symbols.
        """
        return self._cached.get((tuple(sorted({**self._fixed, **sizes}.items())), rows, new))

    @lazy_property
    def cache_axes(self) -> dict[str, int]:
        """The dimension of each cache that has the rows."""
        infos = {info.name: info for info in self.get_inputs()}
        return {name: infos[name].shape.index(self.past_symbol) for name in self.caches}

    @property
    def past_symbol(self) -> str:
        """The symbol that is the number of tokens before a call."""
        return self._programs.symbols.past

    @property
    def new_symbol(self) -> str:
        """The symbol that is the number of new tokens of a call."""
        return self._programs.symbols.new

    @property
    def total_symbol(self) -> str | None:
        """The symbol that is the number of all tokens after a call."""
        return self._programs.symbols.total

    @property
    def programs(self) -> list[CacheProgram]:
        """The programs with caches in place that exist now."""
        return self._cached.values()


class CacheSession:
    """
    The tokens that a decoder has seen, as keys and values in memory of the session.

    Sessions of one model share its programs and weights. Several threads may use a session each at
    the same time; one session is for one thread at a time.
    """

    def __init__(self, model: CachedModel, rows: int):
        """See `CachedModel.session`."""
        self._model = model
        self._signature = model.call_signature
        self._binding = Binding(self._signature.inputs)
        self._least = rows
        self._rows = 0
        self._sizes: dict[str, int] = {}
        self._state: dict[str, np.ndarray] = {}
        self._axes = {name: axis_in_state(axis) for name, axis in model.cache_axes.items()}
        self.length = 0
        """The number of tokens so far."""
        self._last = 0
        """The number of last rows of the memory that calls have written, to move them."""

    def reset(self) -> None:
        """Forgets all tokens, and keeps the memory."""
        self._forget(0)

    def truncate(self, length: int) -> None:
        """Forgets all but the first tokens. Raises InputError if there are fewer."""
        if not isinstance(length, Integral) or not 0 <= length <= self.length:
            raise InputError(f"expected a length in 0 to {self.length}, found {length!r}")
        self._forget(int(length))

    def _forget(self, length: int) -> None:
        """
        Forgets all but the first tokens. Their rows become zeros, since programs multiply rows
        without content by zero, and what is not finite would stay.
        """
        behind = max(length, self._rows - self._last)
        for name, array in self._state.items():
            array[self._part(self._axes[name], length, self.length)] = 0
            array[self._part(self._axes[name], behind, self._rows)] = 0
        self.length, self._last = length, 0

    def fork(self) -> CacheSession:
        """Returns another session that has seen the same tokens, with memory of its own."""
        other = CacheSession(self._model, self._least)
        other._rows, other._sizes = self._rows, dict(self._sizes)
        other._state = {name: array.copy() for name, array in self._state.items()}
        other.length, other._last = self.length, self._last
        return other

    def __call__(self, /, *args: object, **kwargs: object) -> list[np.ndarray]:
        """Runs the model on new tokens; see `run`."""
        return self.run(None, self._signature.bind(args, kwargs))

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, object]
    ) -> list[np.ndarray]:
        """
        Runs the model on new tokens and returns the outputs that are no caches. Inputs are those
        of the network as it was exported, without caches: a mask covers all tokens so far. Raises
        InputError for wrong inputs, and then forgets nothing.
        """
        wanted = self._signature.select(output_names)
        given = self._signature.arrays(input_feed)
        sizes = self._symbol_sizes(given)
        new = sizes.pop(self._model.new_symbol)
        rows = self._rows_for(sizes, new)
        as_exported = rows - new < _LEAST_PAST
        # before the memory grows, since a number of rows without a program would stay
        program = None if as_exported else self._model.program(sizes, rows, new)
        self._let_have(sizes, rows)
        feed = dict(zip((info.name for info in self._signature.inputs), given, strict=True))
        if program is None:
            outputs = self._compute_as_exported(feed, new)
        else:
            outputs = self._compute(program, feed)
        return [outputs[i] for i in wanted]

    def _symbol_sizes(self, given: Sequence[np.ndarray]) -> dict[str, int]:
        """Returns the sizes of symbols but that of all tokens. Raises InputError."""
        sizes = self._binding.sizes([array.shape for array in given])
        found = dict(zip(self._binding.symbols, sizes, strict=True))
        self._model.expect_in_range({**found, self._model.past_symbol: self.length})
        if found[self._model.new_symbol] == 0:
            raise InputError(f"symbol {self._model.new_symbol} is 0: expected at least 1 new token")
        total = found.pop(self._model.total_symbol or "", None)
        expected = self.length + found[self._model.new_symbol]
        if total is not None and total != expected:
            raise InputError(
                f"symbol {self._model.total_symbol} is {total}: expected {expected}, since the "
                f"session has {self.length} tokens and the call {expected - self.length}"
            )
        return found

    def _rows_for(self, sizes: Mapping[str, int], new: int) -> int:
        """Returns the rows that the memory of the caches needs for a call. Raises InputError."""
        if self.length and dict(sizes) != self._sizes:
            raise InputError(f"the session has sizes {self._sizes}, found {dict(sizes)}")
        needed = max(self.length + new, self._least, self._rows)
        return self._model.bucket(needed, new + _LEAST_PAST)

    def _let_have(self, sizes: Mapping[str, int], rows: int) -> None:
        """
        Lets the memory of the caches have so many rows, with the tokens so far. Raises InputError,
        and then changes nothing, if there is no such memory.
        """
        if rows == self._rows and dict(sizes) == self._sizes:
            return
        try:
            state = self._grown(sizes, rows)
        except MemoryError as error:
            raise InputError(
                f"no memory for caches of {rows} rows ({error}): run fewer tokens, or ask for "
                "fewer rows"
            ) from error
        self._state, self._rows, self._sizes = state, rows, dict(sizes)
        self._last = 0

    def _grown(self, sizes: Mapping[str, int], rows: int) -> dict[str, np.ndarray]:
        """Returns memory of so many rows, with the tokens so far."""
        found: dict[str, np.ndarray] = {}
        for info in self._model.get_inputs():
            if info.name not in self._axes:
                continue
            place = self._axes[info.name]
            shape = [sizes.get(d, d) for d in info.shape if d != self._model.past_symbol]
            shape.insert(place, rows)
            made = found[info.name] = np.zeros(shape, info.memory_dtype)
            if self.length:
                part = self._part(place, 0, self.length)
                made[part] = self._state[info.name][part]
        return found

    def _pad(self, feed: dict[str, np.ndarray], rows: Rows) -> None:
        """Inserts zeros for rows without content into inputs that have all tokens."""
        for info in self._signature.inputs:
            if self._model.total_symbol not in info.shape:
                continue
            axis = info.shape.index(self._model.total_symbol)
            array = feed[info.name]
            padded = np.zeros(
                [rows.total if i == axis else n for i, n in enumerate(array.shape)], array.dtype
            )
            past = self._part(axis, 0, self.length)
            padded[past] = array[past]
            last = self._part(axis, self.length, self.length + rows.new)
            padded[self._part(axis, rows.past, rows.total)] = array[last]
            feed[info.name] = padded

    def _compute(self, program: CacheProgram, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Runs a program, which changes the caches, and returns the other outputs."""
        model, kept = program.model, program.kept
        self._pad(feed, program.rows)
        feed |= program.inputs_after(self.length)
        feed |= self._state
        inputs = [feed[info.name] for info in model.get_inputs()]
        model.expect_indices(inputs)
        outputs = [
            self._state[kept[o]] if o in kept else np.empty(info.shape, info.dtype)
            for o, info in enumerate(model.get_outputs())
        ]
        self._last = max(self._last, program.rows.new)
        try:
            model.compute_apart(inputs, outputs)
        except GlowError:
            self._forget(self.length)  # nothing but rows of the call
            raise
        self._commit(program.rows)
        return [array for o, array in enumerate(outputs) if o not in kept]

    def _compute_as_exported(self, feed: dict[str, np.ndarray], new: int) -> list[np.ndarray]:
        """
        Runs the network with caches as inputs and outputs, for a call whose new tokens leave no
        room for past rows in the memory. Returns the other outputs.
        """
        axes = self._model.cache_axes
        for name, array in self._state.items():
            past = array[self._part(self._axes[name], 0, self.length)]
            feed[name] = np.ascontiguousarray(np.moveaxis(past, self._axes[name], axes[name]))
        found = self._model.answer([feed[info.name] for info in self._model.get_inputs()])
        outputs = {i.name: array for i, array in zip(self._model.get_outputs(), found, strict=True)}
        for name, array in self._state.items():
            part = self._part(self._axes[name], self.length, self.length + new)
            present = outputs[self._model.caches[name]]
            array[part] = np.moveaxis(present, axes[name], self._axes[name])[part]
        self.length += new
        return [outputs[info.name] for info in self._signature.outputs]

    def _commit(self, rows: Rows) -> None:
        """Moves the new rows behind the past ones."""
        if self.length != rows.past:
            parts = {
                axis: (
                    self._part(axis, self.length, self.length + rows.new),
                    self._part(axis, rows.past, rows.total),
                )
                for axis in set(self._axes.values())
            }
            for name, array in self._state.items():
                place, made = parts[self._axes[name]]
                array[place] = array[made]
        self.length += rows.new

    @staticmethod
    def _part(axis: int, start: int, end: int) -> tuple[slice, ...]:
        return (*[slice(None)] * axis, slice(start, end))
