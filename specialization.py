"""
Networks with symbolic dimensions, or with shapes that values of inputs decide: compiled for the
sizes and values that inputs have, when these come.

A program has static shapes. `SymbolicModel` makes one for each combination of sizes and values that
it meets, a specialization, and keeps a bounded number of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np

from .compiled_model import CompiledModel
from .errors import GlowError, ValuesNeededError
from .interface.backend import Backend
from .interface.destinations import Outputs
from .interface.memory_plan import MemoryPlan
from .interface.signature import Signature, TensorInfo
from .runtime.symbols import Binding, checked_sizes

if TYPE_CHECKING:
    from .interface.time_profile import TimeProfile
    from .runtime.stages import Stages

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
InputValue: TypeAlias = "tuple[int, tuple[int, ...], bytes]"
"""The number of an input, its shape and its bytes."""
Key: TypeAlias = "tuple[tuple[int, ...], tuple[InputValue, ...]]"
"""Sizes of all symbols, and values of deciding inputs."""


class LatestUsed(Generic[K, V]):
    """
    The results of `make` by key, for the `limit` keys that were used last.

    Any thread may ask. Several that ask for one key at a time wait for the first; different keys
    do not wait for each other. If `make` fails, the next one who asks tries again.
    """

    def __init__(self, make: Callable[[K], V], limit: int):
        self.limit = limit
        self._make = make
        self._made: OrderedDict[K, V] = OrderedDict()
        self._pending: dict[K, threading.Event] = {}
        self._lock = threading.Lock()

    def get(self, key: K) -> V:
        """Returns the value of a key, which is made if necessary. Raises the errors of `make`."""
        while True:
            with self._lock:
                if key in self._made:
                    self._made.move_to_end(key)
                    return self._made[key]
                pending = self._pending.get(key)
                if pending is None:
                    mine = self._pending[key] = threading.Event()
                    break
            pending.wait()
        try:
            value = self._make(key)
            with self._lock:
                self._made[key] = value
                while len(self._made) > self.limit:
                    self._made.popitem(last=False)
            return value
        finally:
            with self._lock:
                del self._pending[key]
            mine.set()

    def values(self) -> list[V]:
        """Returns the values that are kept, the latest used last."""
        with self._lock:
            return list(self._made.values())


class _SpecializedPrograms:
    """The programs of a model's specializations as one."""

    def __init__(self, model_for: Callable[[Sequence[np.ndarray]], CompiledModel]):
        self._model_for = model_for

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        model = self._model_for(inputs)
        model._signature.expect_indices(inputs)
        return model.computed(inputs)


class DecidingInputs:
    """
    The inputs whose values are part of a specialization, such as axes or a new shape. Compilations
    tell which these are.
    """

    def __init__(self, inputs: Sequence[TensorInfo]):
        self._inputs = inputs
        self._places: tuple[int, ...] = ()

    def add(self, names: Collection[str]) -> None:
        """Notes inputs, by name."""
        found = {i for i, info in enumerate(self._inputs) if info.name in names}
        self._places = tuple(sorted({*self._places, *found}))

    def values(self, arrays: Sequence[np.ndarray]) -> tuple[InputValue, ...]:
        """Returns the values of these inputs, if all inputs are `arrays`."""
        return tuple((i, arrays[i].shape, arrays[i].tobytes()) for i in self._places)

    def arrays(self, values: Sequence[InputValue]) -> dict[str, np.ndarray]:
        """Returns values as arrays, by the names of their inputs."""
        return {
            self._inputs[i].name: np.frombuffer(data, self._inputs[i].memory_dtype).reshape(shape)
            for i, shape, data in values
        }


class SymbolicModel(CompiledModel):
    """
    A network some of whose dimensions get their sizes at each call, or some of whose inputs decide
    shapes by their values.

    Its programs are made when they are first needed, each for one size of every symbol and one
    value of each such input. A call with other values never runs a program for these. What a
    model says of its program (`stages`, `memory`, `times`, `dump_stages`) is that of the only
    specialization; if there are several, choose one with `specialize`.
    """

    def __init__(
        self,
        backend: Backend,
        signature: Signature,
        fixed: Mapping[str, int],
        compile: Callable[[Mapping[str, int], Mapping[str, np.ndarray]], CompiledModel],
        limit: int,
    ):
        """
        `signature` has the symbols; `fixed` are the sizes that it does not have any more; `compile`
        makes the model for sizes of all symbols and for values of inputs, or raises
        ValuesNeededError; at most `limit` of them are kept.
        """
        self._binding = Binding(signature.inputs)
        self._fixed = dict(fixed)
        self._deciding = DecidingInputs(signature.inputs)
        names = self._binding.symbols
        self._kept: LatestUsed[Key, CompiledModel] = LatestUsed(
            lambda key: compile(
                {**fixed, **dict(zip(names, key[0], strict=True))}, self._deciding.arrays(key[1])
            ),
            limit,
        )
        program = _SpecializedPrograms(self.for_inputs)
        super().__init__(lambda: self.stages, backend, program, signature, {})

    def for_inputs(self, inputs: Sequence[np.ndarray]) -> CompiledModel:
        """Returns the specialization for inputs, compiled now unless it is there."""
        return self._specialized(self._binding.sizes(inputs), inputs)

    def compute_into(self, inputs: Sequence[np.ndarray], outputs: Outputs) -> None:
        model = self.for_inputs(inputs)
        model._signature.expect_indices(inputs)
        model.compute_into(inputs, outputs)

    def _specialized(self, sizes: tuple[int, ...], inputs: Sequence[np.ndarray]) -> CompiledModel:
        while True:
            try:
                return self._kept.get((sizes, self._deciding.values(inputs)))
            except ValuesNeededError as error:
                # each names others than those whose values were given
                self._deciding.add(error.inputs)

    def __repr__(self) -> str:
        found, most = len(self._kept.values()), self._kept.limit
        return f"{super().__repr__()[:-1]}; {found} of at most {most} specializations>"

    def specialize(self, symbols: Mapping[str, int] | None = None) -> CompiledModel:
        """
        Returns the model for these sizes of all symbols that have none yet, such as `{"batch": 4}`:
        compiled now, unless it is there. Raises GlowError for wrong symbols, ValuesNeededError if
        shapes follow from values of inputs, and what `glow.compile` raises.
        """
        sizes = checked_sizes(symbols)
        for name, size in self._fixed.items():
            if sizes.pop(name, size) != size:
                raise GlowError(f"symbol {name} was fixed: it is {size}")
        return self._kept.get((self._binding.key(sizes), ()))

    @property
    def symbols(self) -> dict[str, int | None]:
        return {**self._fixed, **dict.fromkeys(self._binding.symbols)}

    @property
    def specializations(self) -> list[CompiledModel]:
        return self._kept.values()

    @property
    def max_specializations(self) -> int:
        return self._kept.limit

    def profile(self, /, *args: object, repeat: int = 20, **kwargs: object) -> TimeProfile:
        arrays = self._signature.arrays(self._signature.bind(args, kwargs))
        return self.for_inputs(arrays).profile(*arrays, repeat=repeat)

    @property
    def stages(self) -> Stages:
        return self._only("stages").stages

    @property
    def memory(self) -> MemoryPlan | None:
        return self._only("memory").memory

    @property
    def times(self) -> dict[str, float]:
        return self._only("times").times

    @property
    def from_cache(self) -> bool:
        return self._only("from_cache").from_cache

    def dump_stages(self, directory: str | Path) -> list[Path]:
        return self._only("dump_stages(...)").dump_stages(directory)

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
