"""
Networks with symbolic dimensions: compiled for the sizes that inputs have, when these come.

A program has static shapes. `SymbolicModel` makes one for each combination of sizes that it meets,
a specialization, and keeps a bounded number of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from .compiled_model import CompiledModel
from .errors import GlowError
from .interface.backend import Backend
from .interface.memory_plan import MemoryPlan
from .interface.signature import Signature
from .runtime.symbols import Binding, checked_sizes

if TYPE_CHECKING:
    import numpy as np

    from .interface.time_profile import TimeProfile
    from .runtime.stages import Stages

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


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
        return self._model_for(inputs)._program.run(inputs)


class SymbolicModel(CompiledModel):
    """
    A network some of whose dimensions get their sizes at each call.

    Its programs are made when they are first needed, each for one size of every symbol. What a
    model says of its program (`stages`, `memory`, `times`, `dump_stages`) is that of the only
    specialization; if there are several, choose one with `specialize`.
    """

    def __init__(
        self,
        backend: Backend,
        signature: Signature,
        fixed: Mapping[str, int],
        compile: Callable[[Mapping[str, int]], CompiledModel],
        limit: int,
    ):
        """
        `signature` has the symbols; `fixed` are the sizes that it does not have any more; `compile`
        makes the model for sizes of all symbols; at most `limit` of them are kept.
        """
        self._binding = Binding(signature.inputs)
        self._fixed = dict(fixed)
        names = self._binding.symbols
        self._kept: LatestUsed[tuple[int, ...], CompiledModel] = LatestUsed(
            lambda key: compile({**fixed, **dict(zip(names, key, strict=True))}), limit
        )
        program = _SpecializedPrograms(self._model_for)
        super().__init__(lambda: self.stages, backend, program, signature, {})

    def _model_for(self, inputs: Sequence[np.ndarray]) -> CompiledModel:
        return self._kept.get(self._binding.sizes(inputs))

    def __repr__(self) -> str:
        found, most = len(self._kept.values()), self._kept.limit
        return f"{super().__repr__()[:-1]}; {found} of at most {most} specializations>"

    def specialize(self, symbols: Mapping[str, int] | None = None) -> CompiledModel:
        """
        Returns the model for these sizes of all symbols that have none yet, such as `{"batch": 4}`:
        compiled now, unless it is there. Raises GlowError for wrong symbols, and what
        `glow.compile` raises.
        """
        sizes = checked_sizes(symbols)
        for name, size in self._fixed.items():
            if sizes.pop(name, size) != size:
                raise GlowError(f"symbol {name} was fixed: it is {size}")
        return self._kept.get(self._binding.key(sizes))

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
        return self._model_for(arrays).profile(*arrays, repeat=repeat)

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
