"""
What a backend implements, and how backends are found.

A backend says which graph nodes it keeps as they are (everything else is decomposed by
`glow-lower-nodes`), names the stages that take a graph to its own final form, and turns that form
into a program that runs. Backends are found through the entry point group `glow.backends`, so
another package can bring one.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, ClassVar, Protocol

from .errors import GlowError

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    from .glow_dialects.operator import Call
    from .runtime.memory_plan import MemoryPlan
    from .runtime.model_source import ModelSource
    from .runtime.signature import Signature

GROUP = "glow.backends"


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
    request, and computed again when somebody looks at it instead of being kept.
    """


class Program(Protocol):
    """A network that is ready to run. Calls from several threads at once are safe."""

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """
        Run once on contiguous arrays of the exact shapes and dtypes that the network declares, in
        the order of its arguments, and return fresh arrays in the order of its results.
        """
        ...


@dataclass(frozen=True)
class Restored:
    """A program that was compiled before, found in a cache."""

    program: Program
    signature: Signature
    memory: MemoryPlan | None


class Backend(abc.ABC):
    """
    One target. Instances hold options and no state of any network.

    The constructor takes options by keyword. Every backend accepts `threads` (how many threads the
    program runs on) and `cache` (True for the default directory of compiled code, False for none,
    or a directory), and ignores what means nothing to it.
    """

    name: ClassVar[str]

    @abc.abstractmethod
    def keeps(self, call: Call) -> bool:
        """Whether the backend implements this operator on these types; if not, it is lowered."""

    @abc.abstractmethod
    def stages(self) -> Sequence[Stage]:
        """What happens to an imported graph, in order."""

    @abc.abstractmethod
    def load(self, stages: Mapping[str, ModuleOp]) -> Program:
        """
        Make the network runnable.

        `stages` maps the name of each stage, `imported` before all others, to its module, and
        computes a stage when it is first asked for. The modules must not be changed.
        """

    def restore(self, source: ModelSource) -> Restored | None:
        """
        The program that was compiled from a model before, without a look at anything but a cache;
        None if there is none. Raises OSError if the model cannot be read.
        """
        return None

    def remember(
        self, source: ModelSource, stages: Mapping[str, ModuleOp], program: Program
    ) -> None:
        """Keep a program that `load` made from a model, for `restore`. By default nothing is."""

    def texts(self, stages: Mapping[str, ModuleOp]) -> Mapping[str, str]:
        """
        What is worth reading beside the stages, by file name: assembly, say. By default nothing.
        """
        return {}


def backend_names() -> list[str]:
    """The names of all installed backends."""
    return sorted(e.name for e in entry_points(group=GROUP))


def find_backend(name: str, **options: object) -> Backend:
    """
    The backend called `name`, constructed with `options`.

    Raises GlowError, naming the installed backends, if there is none of that name.
    """
    for entry in entry_points(group=GROUP):
        if entry.name == name:
            return entry.load()(**options)
    raise GlowError(f"no backend is called {name!r}; installed: {', '.join(backend_names())}")
