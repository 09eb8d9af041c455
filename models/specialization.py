"""
Networks with symbolic dimensions, or with shapes that values of inputs decide.

A program has static shapes. A specialization is the program for one combination of sizes and
values. `SymbolicModel` makes it when a call needs it, and keeps a bounded number of them.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from ..errors import GlowError, ValuesNeededError
from ..fork_safe_lock import ForkSafeLock
from ..interface.backend import Backend
from ..interface.destinations import Outputs
from ..interface.signature import Signature, TensorInfo
from ..interface.symbols import Binding, SizeRange, checked_sizes, listed_sizes
from ..runtime.buckets import BucketSizes, Padding, checked_buckets, expect_same
from .compiled_model import CompiledModel, ProgramCall
from .several_programs import SeveralPrograms

_REMEMBERED = 256
"""The shapes of calls about which facts are kept."""
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
InputValue: TypeAlias = "tuple[int, tuple[int, ...], bytes]"
"""The number of an input, its shape and its bytes."""
Key: TypeAlias = "tuple[tuple[int, ...], tuple[InputValue, ...]]"
"""Sizes of all symbols, and values of deciding inputs."""


class LatestUsed(Generic[K, V]):
    """
    The results of `make` by key, for the `limit` keys that were used last; fewer if their sizes,
    by `size_of`, are more than `limit_size` together.

    Any thread may call `get`. Several threads that need one key at a time wait for the first one;
    threads with different keys do not wait for each other. If `make` fails, or a process is forked
    meanwhile, the next call tries again.
    """

    def __init__(
        self,
        make: Callable[[K], V],
        limit: int,
        size_of: Callable[[V], int] = lambda value: 0,
        limit_size: int | None = None,
    ):
        self.limit = limit
        self._make = make
        self._size_of = size_of
        self._limit_size = limit_size
        self._made: OrderedDict[K, V] = OrderedDict()
        self._last: tuple[K, V] | None = None
        """The key that was used last and its value, which need no lock."""
        self._making: dict[K, ForkSafeLock] = {}
        """The keys whose values are being made, with a lock that the thread which does it holds."""
        self._lock = ForkSafeLock()

    def get(self, key: K) -> V:
        """Returns the value of a key, which is made if necessary. Raises the errors of `make`."""
        last = self._last
        if last is not None and last[0] == key:
            return last[1]
        while True:
            with self._lock:
                if key in self._made:
                    self._made.move_to_end(key)
                    self._last = key, self._made[key]
                    return self._made[key]
                making = self._making.setdefault(key, ForkSafeLock())
            with making:
                if self._making.get(key) is not making:
                    continue  # another thread has made the value, or failed
                try:
                    return self._made_now(key)
                finally:
                    del self._making[key]

    def _made_now(self, key: K) -> V:
        """Makes the value of a key, and keeps it."""
        value = self._make(key)
        with self._lock:
            self._made[key] = value
            self._last = key, value
            while len(self._made) > 1 and self._is_full():
                self._made.popitem(last=False)
        return value

    def _is_full(self) -> bool:
        """Returns whether there are more values, or larger ones, than are kept."""
        if self._limit_size is not None:
            if sum(map(self._size_of, self._made.values())) > self._limit_size:
                return True
        return len(self._made) > self.limit

    def values(self) -> list[V]:
        """Returns the values that are kept, the latest used last."""
        with self._lock:
            return list(self._made.values())


@dataclass(frozen=True)
class SpecializationRules:
    """States which sizes of symbols get programs, and how many of these are kept."""

    limit: int
    """The number of programs that are kept."""
    limit_bytes: int | None = None
    """The bytes of activations that they may have together."""
    ranges: Mapping[str, SizeRange] = field(default_factory=dict[str, SizeRange])
    buckets: BucketSizes | Mapping[str, BucketSizes] | None = None
    batch_loop: str | None = None
    """The symbol of the batch, whose sizes all have the same program."""
    rows: str | None = None
    """A symbol of rows, whose sizes all have the same program."""

    @property
    def name_symbols(self) -> bool:
        """Whether some of the rules are about symbols."""
        return bool(self.ranges) or self.buckets is not None


class _SpecializedPrograms:
    """The programs of a model's specializations as one."""

    def __init__(self, run: Callable[[Sequence[np.ndarray]], list[np.ndarray]]):
        self._run = run

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return self._run(inputs)


class DecidingInputs:
    """
    The inputs whose values are part of a specialization, such as axes or a new shape. Compilations
    tell which these are.
    """

    def __init__(self, inputs: Sequence[TensorInfo]):
        self._inputs = inputs
        self._places: tuple[int, ...] = ()

    def add(self, names: Collection[str]) -> bool:
        """Notes inputs, by name; returns whether there are others than before."""
        found = {i for i, info in enumerate(self._inputs) if info.name in names}
        before, self._places = self._places, tuple(sorted({*self._places, *found}))
        return self._places != before

    def values(self, arrays: Sequence[np.ndarray]) -> tuple[InputValue, ...]:
        """Returns the values of these inputs, if all inputs are `arrays`."""
        if not self._places:
            return ()
        return tuple((i, arrays[i].shape, arrays[i].tobytes()) for i in self._places)

    def arrays(self, values: Sequence[InputValue]) -> dict[str, np.ndarray]:
        """Returns values as arrays, by the names of their inputs."""
        return {
            self._inputs[i].name: np.frombuffer(data, self._inputs[i].memory_dtype).reshape(shape)
            for i, shape, data in values
        }


class SpecializedModel(SeveralPrograms):
    """A network whose programs are made when calls need them, each for inputs of one kind."""

    _kept: LatestUsed[Any, CompiledModel]

    @property
    def specializations(self) -> list[CompiledModel]:
        return self._kept.values()

    @property
    def max_specializations(self) -> int:
        return self._kept.limit


class SymbolicModel(SpecializedModel):
    """
    A network with symbolic dimensions, or with inputs whose values decide shapes.

    Its programs are made when they are first needed, each for one size of every symbol and one
    value of each such input. Facts about a program (`stages`, `memory`, `times`, `dump_stages`) are
    those of the only specialization; if there are several, choose one with `specialize`.
    """

    def __init__(
        self,
        backend: Backend,
        signature: Signature,
        fixed: Mapping[str, int],
        compile: Callable[[Mapping[str, int], Mapping[str, np.ndarray]], CompiledModel],
        rules: SpecializationRules,
    ):
        """
        `signature` has the symbols. `fixed` are the sizes of the symbols that are not in it.
        `compile` makes the model for sizes of all symbols and for values of inputs, or raises
        ValuesNeededError.

        Raises GlowError if `rules` name symbols that are not there, and for wrong buckets.
        """
        self._binding = Binding(signature.inputs)
        self._fixed = dict(fixed)
        self._deciding = DecidingInputs(signature.inputs)
        self._compile = compile
        self._rules = rules
        for name in rules.ranges:
            self._binding.expect_symbol(name)
        largest = {name: r.high for name, r in rules.ranges.items()}
        self._buckets = checked_buckets(rules.buckets, signature, self._binding.symbols, largest)
        self._same_when_padded: set[str] = set()
        self._has_warned = False
        # small programs run hardly longer than these take
        self._known_sizes = lru_cache(_REMEMBERED)(self._sizes_of)
        self._padding = lru_cache(_REMEMBERED)(self._new_padding)
        self._kept: LatestUsed[Key, CompiledModel] = LatestUsed(
            self._made, rules.limit, CompiledModel.activation_bytes, rules.limit_bytes
        )
        program = _SpecializedPrograms(self._run)
        super().__init__(backend, program, signature)

    def _made(self, key: Key) -> CompiledModel:
        """Returns a new specialization. Raises GlowError if it is too large."""
        kept = self._rules.limit
        if not self._has_warned and len(self._kept.values()) == kept:
            self._has_warned = True
            text = f"calls need programs for more than {kept} combinations of sizes and values of "
            text += "inputs, and older ones are dropped: give max_specializations or buckets"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        sizes = {**self._fixed, **self._by_name(key[0])}
        made = self._compile(sizes, self._deciding.arrays(key[1]))
        limit = self._rules.limit_bytes
        if limit is not None and (found := made.activation_bytes()) > limit:
            named = ", ".join(f"{name} = {size}" for name, size in sizes.items())
            raise GlowError(
                f"the program for {named} has {found} bytes of activations, and "
                f"max_specialization_bytes is {limit}"
            )
        return made

    def _run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        sizes = self._bound_sizes(inputs)
        wide = self._bucketed(sizes)
        if wide == sizes:
            return self._run_exactly(sizes, inputs)
        padding = self._padding(sizes, wide)
        found = padding.cut(self._run_exactly(wide, padding.padded(inputs)))
        each = zip(self._binding.symbols, sizes, wide, strict=True)
        longer = [name for name, size, larger in each if size != larger]
        if not self._same_when_padded.issuperset(longer):
            exact = self._run_exactly(sizes, inputs)
            expect_same(found, exact, self._signature.outputs, longer)
            self._same_when_padded.update(longer)
        return found

    def _run_exactly(
        self, sizes: tuple[int, ...], inputs: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """Returns the results of the program for the inputs' own sizes."""
        model = self._specialized(sizes, inputs)
        model.expect_indices(inputs)
        return model.computed(self._program_inputs(sizes, inputs))

    def _new_padding(self, sizes: tuple[int, ...], wide: tuple[int, ...]) -> Padding:
        """Returns the way from inputs of some sizes to a program of other ones, and back."""
        own, larger = self._by_name(sizes), self._by_name(wide)
        return Padding(self._signature.inputs, self._program_outputs(wide), own, larger)

    def _program_outputs(self, sizes: tuple[int, ...]) -> Sequence[TensorInfo]:
        """Returns the outputs of the program for these sizes, with the symbols in their shapes."""
        return self._signature.outputs

    def _program_inputs(
        self, sizes: tuple[int, ...], inputs: Sequence[np.ndarray]
    ) -> Sequence[np.ndarray]:
        """Returns what the program takes for inputs of these sizes."""
        return inputs

    def _bound_sizes(self, inputs: Sequence[np.ndarray]) -> tuple[int, ...]:
        """Returns the size of each symbol. Raises InputError for one out of its range."""
        return self._known_sizes(tuple([array.shape for array in inputs]))

    def _sizes_of(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """Returns the sizes of `_bound_sizes` for shapes of inputs."""
        sizes = self._binding.sizes(shapes)
        if self._rules.ranges:
            self.expect_in_range(self._by_name(sizes))
        return sizes

    def expect_in_range(self, sizes: Mapping[str, int]) -> None:
        """Raises InputError unless each symbol has a size of its range."""
        for name, allowed in self._rules.ranges.items():
            allowed.expect(name, sizes[name])

    def _by_name(self, sizes: tuple[int, ...]) -> dict[str, int]:
        return dict(zip(self._binding.symbols, sizes, strict=True))

    def _bucketed(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the sizes that inputs of these sizes are padded to."""
        if not self._buckets:
            return sizes
        return tuple(
            self._buckets[name].size_for(size) if name in self._buckets else size
            for name, size in self._by_name(sizes).items()
        )

    def for_inputs(self, inputs: Sequence[np.ndarray]) -> CompiledModel:
        """Returns the specialization for inputs, compiled now unless it is there."""
        model = self._specialized(self._bound_sizes(inputs), inputs)
        model.expect_indices(inputs)
        return model

    def compute_into(self, inputs: Sequence[np.ndarray], outputs: Outputs) -> None:
        sizes = self._bound_sizes(inputs)
        if self._bucketed(sizes) != sizes:
            super().compute_into(inputs, outputs)
            return
        model = self._specialized(sizes, inputs)
        model.expect_indices(inputs)
        model.compute_into(inputs, outputs)

    def _specialized(self, sizes: tuple[int, ...], inputs: Sequence[np.ndarray]) -> CompiledModel:
        while True:
            try:
                return self._kept.get((sizes, self._deciding.values(inputs)))
            except ValuesNeededError as error:
                if not self._deciding.add(error.inputs):
                    raise

    def __repr__(self) -> str:
        found, most = len(self._kept.values()), self._kept.limit
        return f"{super().__repr__()[:-1]}; {found} of at most {most} specializations>"

    def specialize(self, symbols: Mapping[str, int] | None = None) -> CompiledModel:
        """
        Returns the model for these sizes of all symbols that have none yet, such as `{"batch": 4}`:
        compiled now, unless it is there. Raises GlowError for wrong symbols, ValuesNeededError if
        shapes follow from values of inputs, and what `glow.compile` raises.
        """
        return self._kept.get((self._key(symbols), ()))

    def _key(self, sizes: object) -> tuple[int, ...]:
        """Returns sizes of the symbols that have none yet. Raises the errors of `specialize`."""
        given = checked_sizes(sizes)
        for name, size in self._fixed.items():
            if given.pop(name, size) != size:
                raise GlowError(f"symbol {name} was fixed: it is {size}")
        key = self._binding.key(given)
        self.expect_in_range(given)
        return key

    def warm_up(self, symbols: Iterable[Mapping[str, int]]) -> None:
        sizes = dict.fromkeys(self._bucketed(self._key(each)) for each in listed_sizes(symbols))
        if len(sizes) > self._kept.limit:
            raise GlowError(
                f"{len(sizes)} specializations are more than the {self._kept.limit} that are "
                "kept: give glow.compile a larger max_specializations"
            )
        for each in sizes:
            self._kept.get((each, ()))

    @property
    def symbols(self) -> dict[str, int | None]:
        return {**self._fixed, **dict.fromkeys(self._binding.symbols)}

    def program_calls(self, inputs: Sequence[np.ndarray]) -> list[ProgramCall]:
        sizes = self._bound_sizes(inputs)
        wide = self._bucketed(sizes)
        if wide != sizes:
            inputs = self._padding(sizes, wide).padded(inputs)
        model = self._specialized(wide, inputs)
        return model.program_calls(self._program_inputs(wide, inputs))

    def _only(self, what: str) -> CompiledModel:
        """Returns the specialization, if there is one alone. Raises GlowError otherwise."""
        found = self._kept.values()
        if len(found) == 1:
            return found[0]
        names = ", ".join(f"{name!r}: 1" for name in self._binding.symbols)
        if found:
            sizes = "; ".join(str(dict(model.symbols)) for model in found)
            why = f"there are {len(found)} ({sizes})"
        else:
            why = "there is none before the first call"
        raise GlowError(
            f"{what} is that of one specialization, and {why}: use "
            f"model.specialize({{{names}}}).{what} with the sizes that you mean"
        )
