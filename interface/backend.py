"""
The interface of backends, and the search for them.

A backend claims the operators that it computes (all others are decomposed by `glow-lower-nodes`),
names the stages that take a graph to its own final form, and compiles that form into a program that
runs. Its statements about its memories and of its speed serves to split networks over devices.
`docs/backends.md` builds a complete one. Backends are found through the entry point group
`glow.backends`, so another package can bring one.
"""

from __future__ import annotations

import abc
import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..errors import CompileError, GlowError, described
from ..lazy import lazy_property
from ..wording import did_you_mean

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    from ..glow_dialects.claims import Claim
    from ..glow_dialects.glow.base import Node
    from ..glow_dialects.machine import MachineDescription
    from ..glow_dialects.operator import Call
    from .cache import Cache
    from .model_source import ModelSource
    from .program import Program, Restored
    from .time_profile import TimeProfile

GROUP = "glow.backends"
T = TypeVar("T")


@dataclass(frozen=True)
class Stage:
    """A named step of compilation: a pass pipeline whose result is kept for inspection."""

    name: str
    """Short, and usable as a file name: the stage's IR is dumped as `NN-name.mlir`."""
    pipeline: str
    """
    Passes in the syntax of `glow-opt -p`, for example
    `glow-lower-nodes{backend=cpu},canonicalize`.
    """
    bulky: bool = False
    """
    Whether its IR is generated code, much larger than the network: such a stage is verified only on
    request, and computed again at each access instead of being kept.
    """
    by_function: bool = False
    """
    Whether its passes look at each function by itself, but for declarations of those before it.
    """


@dataclass(frozen=True)
class DeviceMemory:
    """A memory of a device, as programs see it."""

    name: str
    bytes: int | None
    """The size of the memory; None if it is the host's."""
    alignment: int = 1
    """Bytes: where buffers may start."""
    layouts: tuple[str, ...] = ("row-major",)
    """The layouts of tensors in it, in the backend's words."""

    def __post_init__(self) -> None:
        size = self.bytes
        if size is not None and (not isinstance(size, int) or size < 0):
            raise GlowError(f"expected a number of bytes, or None, of {self.name}, found {size!r}")


@dataclass(frozen=True)
class Rates:
    """The speed of a device. A node takes the longer of computing and of moving bytes."""

    operations: float
    """Per second."""
    bytes: float
    """Per second, to and from the memory that holds tensors."""
    overhead: float = 0.0
    """The seconds that a node of any size takes."""

    def __post_init__(self) -> None:
        if not (self.operations > 0 and self.bytes > 0 and self.overhead >= 0):
            raise GlowError(f"expected rates above 0, and an overhead of at least 0, found {self}")


class Backend(abc.ABC):
    """
    One target. Instances hold options and no state of any network.

    The constructor takes options by keyword. Every backend accepts `threads` (how many threads the
    program runs on) and `cache` (True for the default directory of compiled code, False for none,
    or a directory), and ignores what means nothing to it, as this one does.

    A backend must implement `claims`, `stages` and `compile`.
    """

    name: ClassVar[str]
    keeps_code: ClassVar[bool] = False
    """Whether `cache`, if there is one, keeps compiled code."""
    is_replaceable: ClassVar[bool] = False
    """Whether the interpreter may run a network, more slowly, that the backend cannot compile."""
    limits_rows: ClassVar[bool] = False
    """Whether its programs compute only the rows that `glow-limit-rows` makes an input."""
    cache: Cache | None = None
    """The cache for facts about models; None for no cache."""

    def __init__(self, threads: int = 1, cache: object = True):
        pass

    def __repr__(self) -> str:
        values = [(n, self.option(n), default) for n, default in self.option_defaults().items()]
        shown = [f"{name}={value!r}" for name, value, default in values if value != default]
        return f"{type(self).__name__}({', '.join(shown)})"

    # its options

    @classmethod
    def option_defaults(cls) -> Mapping[str, object]:
        """Its options but `cache`, by name: by default those of the constructor."""
        parameters = inspect.signature(cls).parameters
        return {name: p.default for name, p in parameters.items() if name != "cache"}

    def option(self, name: str) -> object:
        """Returns the value of an option, as far as it is kept; by default in an attribute."""
        return getattr(self, name, self.option_defaults()[name])

    @classmethod
    def expect_options(cls, options: Mapping[str, object]) -> Mapping[str, Any]:
        """Options with the names of some of this backend. Raises GlowError for other names."""
        known = cls.option_defaults()
        for name in options:
            if name not in known:
                raise GlowError(
                    f"there is no option {name!r}{did_you_mean(name, known)}; the backend "
                    f"{cls.name} has {', '.join(known)}"
                )
        return options

    # operators

    def on(self, machine: MachineDescription) -> Backend:
        """
        Returns the backend for modules that are for a machine (`glow.machine`), whatever its own
        options say: by default itself, because no claim depends on the machine.
        """
        return self

    @abc.abstractmethod
    def claims(self) -> Sequence[Claim]:
        """
        Returns the operators that the backend computes, with their types. The answer is always the
        same.
        """

    def claims_by_operator(self) -> Mapping[type[Node], Sequence[Claim]]:
        """Returns its claims by operator. Raises GlowError if `claims` returns other things."""
        return self._claims_by_operator

    @lazy_property
    def _claims_by_operator(self) -> Mapping[type[Node], Sequence[Claim]]:
        # a program from the cache needs no xDSL, and so no operators
        from ..glow_dialects.claims import Claim

        table: dict[type[Node], list[Claim]] = {}
        for claim in sequence_of(Claim, self.claims(), f"claims() of the backend {self.name}"):
            table.setdefault(claim.operator, []).append(claim)
        return table

    def supports(self, call: Call) -> bool:
        """
        Returns whether a claim covers an operator on these types. The types may be those of a float
        operator with its quantized operands and results (see `glow_dialects.claims`).
        """
        alternatives = self._claims_by_operator.get(call.operator, ())
        try:
            return any(claim.covers(call) for claim in alternatives)
        except Exception as error:  # a condition may be code of another package
            raise CompileError(
                f"the condition of a claim of the backend {self.name} for {call.operator.name} "
                f"({', '.join(map(str, call.operands))}) raises {described(error)}"
            ) from error

    def keeps(self, call: Call) -> bool:
        """
        Returns whether `glow-lower-nodes` leaves a node as it is: by default, if it is supported.
        """
        return self.supports(call)

    # compilation

    @abc.abstractmethod
    def stages(self) -> Sequence[Stage]:
        """
        Returns the stages of an imported graph, in order: rewrites of the graph,
        `glow-lower-nodes`, and the lowering to the form that `compile` reads.
        """

    @abc.abstractmethod
    def compile(self, stages: Mapping[str, ModuleOp]) -> Program:
        """
        Makes the network runnable.

        `stages` maps the name of each stage, `imported` before all others, to its module, and
        computes a stage when it is first asked for. The modules must not be changed.
        """

    def resume(self, module: ModuleOp) -> None:
        """
        Checks and completes a module that was read from a file and continues with a later stage
        than the first. By default nothing is to be done.
        """

    # properties of the device

    def memories(self) -> Sequence[DeviceMemory]:
        """
        Returns the device's memories. The first holds weights, inputs, outputs and activations; by
        default that is the host's memory.
        """
        return (DeviceMemory("host", None),)

    def main_memory(self) -> DeviceMemory:
        """Returns the first of its memories. Raises GlowError unless `memories` returns any."""
        whose = f"memories() of the backend {self.name}"
        found = sequence_of(DeviceMemory, self.memories(), whose)
        if not found:
            raise GlowError(f"expected at least one memory from {whose}")
        return found[0]

    def rates(self, call: Call) -> Rates:
        """
        Returns how fast the device computes an operator. By default one operation and one byte take
        a nanosecond, which orders nodes by size and says nothing of a device.
        """
        return Rates(1e9, 1e9)

    def cost(self, call: Call) -> float:
        """
        Returns estimated seconds of a node, alone: the roofline of its work (Williams et al. 2009)
        at `rates`. Zero for what is another view of the same bytes or known at compile time.
        """
        # a program from the cache needs no xDSL, and so no operators
        from ..glow_dialects.work import work_of

        work = work_of(call)
        if not (work.operations or work.bytes):
            return 0.0
        rates = self.rates(call)
        seconds = max(work.operations / rates.operations, work.bytes / rates.bytes)
        return seconds + rates.overhead

    # cache and output

    def restore(self, source: ModelSource) -> Restored | None:
        """
        Returns the program that was compiled from a model before, using only a cache; None if there
        is none. Raises OSError if the model cannot be read.
        """
        return None

    def remember(
        self, source: ModelSource, stages: Mapping[str, ModuleOp], program: Program
    ) -> None:
        """
        Keeps a program that `compile` made from a model, for `restore`. By default nothing is.
        """

    def profile(
        self,
        program: Program,
        stages: Mapping[str, ModuleOp],
        inputs: Sequence[np.ndarray],
        repeat: int,
    ) -> TimeProfile:
        """
        Measures the times of each instruction of a program that `compile` or `restore` made, in
        `repeat` runs on inputs as for `Program.run`. By default it raises GlowError.
        """
        raise GlowError(f"the backend {self.name} measures no times of instructions: use cpu")

    def texts(self, stages: Mapping[str, ModuleOp]) -> Mapping[str, str]:
        """
        Returns texts that are shown beside the stages, by file name, for example assembly. By
        default there are none.
        """
        return {}


def sequence_of(kind: type[T], found: object, whose: str) -> Sequence[T]:
    """Returns what a method of a backend returned. Raises GlowError for other things."""
    if not isinstance(found, Sequence):
        raise GlowError(f"expected a sequence of {kind.__name__} from {whose}, found {found!r}")
    if wrong := [each for each in found if not isinstance(each, kind)]:
        raise GlowError(f"expected only {kind.__name__} from {whose}, found {wrong[0]!r}")
    return found


@lru_cache(maxsize=8)
def _entries(search_path: tuple[str, ...]) -> EntryPoints:
    # kept, because the metadata of all packages is read for it
    return entry_points(group=GROUP)


def backend_names() -> list[str]:
    """Returns the names of all installed backends."""
    return sorted(e.name for e in _entries(tuple(sys.path)))


def find_backend(name: str, cache: object = True, **options: object) -> Backend:
    """
    Returns the backend called `name`, constructed with a cache and options. One that is None or
    False has its default.

    Raises GlowError, naming the installed backends, if there is none of that name, for options that
    it does not have, and if it cannot be loaded or constructed.
    """
    found = _backend_class(name)
    known = found.option_defaults()
    given = given_options(options)
    unknown = [option for option in options if option not in known]
    if unknown and (owners := option_owners(unknown)):
        if wrong := [option for option in unknown if option in given]:
            raise foreign_options(wrong, owners, name)
    else:
        found.expect_options(options)
    try:
        return found(cache=cache, **given)
    except GlowError:
        raise
    except Exception as error:  # the backend may be code of another package
        raise GlowError(f"cannot construct the backend {name}: {described(error)}") from error


def given_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Returns the options that are neither None nor False; these two mean the default."""
    return {n: value for n, value in options.items() if value is not None and value is not False}


def option_owners(options: Iterable[str]) -> list[str]:
    """
    Returns the names of the installed backends that have all of some options. One that cannot be
    loaded has none.
    """
    wanted, owners = set(options), []
    for name in backend_names():
        with suppress(GlowError):
            if wanted <= _backend_class(name).option_defaults().keys():
                owners.append(name)
    return owners


def foreign_options(options: Sequence[str], owners: Iterable[str], backend: str) -> GlowError:
    """Returns the error about options, as the user writes them, that only `owners` have."""
    verb = "is an option" if len(options) == 1 else "are options"
    return GlowError(
        f"{', '.join(options)} {verb} of the backend {' or '.join(owners)}; "
        f"the backend is {backend}"
    )


def _backend_class(name: str) -> type[Backend]:
    for entry in _entries(tuple(sys.path)):
        if entry.name == name:
            return _loaded(entry)
    raise GlowError(f"no backend is called {name!r}; installed: {', '.join(backend_names())}")


def _loaded(entry: EntryPoint) -> type[Backend]:
    """Returns the class of an entry point. Raises GlowError unless it is a complete backend."""
    try:
        found = entry.load()
    except Exception as error:  # the module may be of another package
        raise GlowError(
            f"cannot load the backend {entry.name} from {entry.value}: {described(error)}"
        ) from error
    what = f"the backend {entry.name}, {entry.value},"
    if not isinstance(found, type) or not issubclass(found, Backend):
        raise GlowError(f"{what} is no class derived from {Backend.__module__}.Backend")
    if missing := sorted(found.__abstractmethods__):
        raise GlowError(f"{what} lacks {', '.join(missing)}")
    if (own := getattr(found, "name", None)) != entry.name:
        raise GlowError(f"{what} has the name {own!r}: give its class and entry point the same")
    return found
