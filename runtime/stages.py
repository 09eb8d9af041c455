"""
The module after each stage of compilation, computed when it is first asked for.

A stage of ordinary size is kept when it was asked for. Stages between, and `bulky` ones (generated
kernels), are computed again each time from the last stage that was kept, so a compiled model holds
little IR, and a program whose code is found in the cache never generates kernels at all.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.exceptions import ArgSpecParseError, VerifyException

from ..context import make_context
from ..errors import CompileError, GlowError, ModelError
from ..fork_safe_lock import ForkSafeLock
from ..glow_dialects.glow.constant import ConstantOp
from ..interface.backend import Stage
from ..passes.collector import without_garbage_collection
from ..passes.visited_operation import run_pass
from ..universe import multiverse
from .environment import verifies
from .gil_switch import python_lock

IMPORTED = "imported"


@dataclass(frozen=True)
class Progress:
    """The progress of a compilation."""

    stage: str
    """`import`, or the stage that is being computed."""
    kernels: int = 0
    """The number of kernels that have machine code already, in a stage that makes it."""
    total: int | None = None
    """The number of all kernels, if it is known."""


class Stages(Mapping[str, ModuleOp]):
    """
    The modules of stages by name, in order of compilation; `imported` is the graph before any pass.

    `done` are the names of the stages that were run before, the last of which made `module`; the
    others are not there.

    `verify` selects the verification: True for the IR after each pass, False for none, None for the
    first stage and for stages that are asked for, without bulky ones (each pass if `$GLOW_VERIFY`
    asks for it). If such a stage is wrong, the passes before it run again to tell which one did it.
    The modules must not be changed.
    """

    def __init__(
        self,
        module: ModuleOp,
        stages: Sequence[Stage],
        verify: bool | None = None,
        done: Sequence[str] = (IMPORTED,),
        progress: Callable[[Progress], None] | None = None,
    ):
        if verify is None and verifies():
            verify = True
        self.times: dict[str, float] = {}
        """Seconds that each stage took, for those that were computed."""
        self.done = done
        self.progress = progress
        """Called when a stage begins, and by backends when a kernel is made."""
        self.functions: int | None = None
        """The number of functions with a body that `by_function` gives, once it has begun."""
        self._stages = (Stage(done[-1], ""), *stages)
        self._index = {stage.name: i for i, stage in enumerate(self._stages)}
        self._kept = {0: module}
        self.verify = verify
        self._context = make_context()
        self._lock = ForkSafeLock()
        if verify is not False:
            imported = len(done) == 1
            verify_module(module, "the imported graph" if imported else f"stage {done[-1]}")

    def __getitem__(self, name: str) -> ModuleOp:
        """
        Returns the module after the stage called `name`.

        Raises KeyError if there is none, CompileError, naming the pass and the operator, if a pass
        fails, and GlowError for a stage before the one that the module came from.
        """
        if name in self.done[:-1]:
            raise GlowError(
                f"the module is at the stage {self.done[-1]}, which lacks what the stage {name} "
                f"has: start from a file of the stage {name}, or of one before it"
            )
        index = self._index[name]
        with self._lock:
            return self._kept[index] if index in self._kept else self._compute(index)

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._stages)

    def __contains__(self, name: object) -> bool:
        return name in self._index  # Mapping's own would compute the stage

    def __repr__(self) -> str:
        return f"<Stages: {', '.join(self._index)}>"

    def walk(self) -> Iterator[tuple[str, ModuleOp]]:
        """
        Yields all stages in order, each computed from the one before, so that they share weights.
        All but the first change after their turn.
        """
        with self._lock:
            module = self._kept[0]
            yield self._stages[0].name, module
            for index, stage in enumerate(self._stages[1:], 1):
                module = self._next(index, module)
                yield stage.name, module

    def by_function(self, name: str) -> Iterator[ModuleOp]:
        """
        Yields the module after a stage that works by function in parts, one for each function, each
        as soon as it is made; so code can be generated for one while the next is computed. The
        stages before it that work by function are computed likewise. The last function may call the
        others. It is one part if all IR is verified, because functions call each other.
        """
        last = self._index[name]
        first = last
        while self._stages[first - 1].by_function:
            first -= 1
        with self._lock:
            if max(self._kept) >= first - 1 or self.verify is True:
                yield self[name]
                return
            whole = self._compute(first - 1)
            stages = self._stages[first : last + 1]
            self._begin(stages)
            functions = deque(whole.body.block.ops)
            self.functions = sum(bool(op.regions and op.regions[0].blocks) for op in functions)
            declared: list[Operation] = []
            attributes = dict(whole.attributes)
            while functions:
                function = functions.popleft()
                function.detach()
                callees = () if functions else declared
                part = ModuleOp([*callees, function], attributes)
                del function
                for stage in stages[:-1]:
                    self._apply_timed(stage, part)
                if functions:
                    declared += [op.clone_without_regions() for op in part.body.block.ops]
                self._apply_timed(stages[-1], part)
                # nothing here refers to a part that its user is done with
                only = [part]
                del part
                yield only.pop()

    def _apply_timed(self, stage: Stage, part: ModuleOp) -> None:
        """Runs a stage on a part of the module."""
        start = time.perf_counter()
        with python_lock, without_garbage_collection():
            self._apply_passes(stage, part, verify=False)
        self.times[stage.name] += time.perf_counter() - start

    def _begin(self, stages: Sequence[Stage]) -> None:
        """Notes that stages begin together."""
        for stage in stages:
            self.times[stage.name] = 0.0
            if self.progress is not None:
                self.progress(Progress(stage.name))

    def _compute(self, index: int) -> ModuleOp:
        start = max(i for i in self._kept if i < index)
        module = self._kept[start]
        stage = self._stages[index]
        try:
            for i in range(start + 1, index + 1):
                module = self._next(i, module)
            if not stage.bulky:
                if self.verify is None:
                    verify_module(module, f"stage {stage.name}")
                self._kept[index] = module
        except CompileError:
            # verifying once, at the end, is cheaper; now find the pass after which the IR was wrong
            if self.verify is None:
                self._verify_passes(index)
            raise
        return module

    def _verify_passes(self, index: int) -> None:
        """
        Verifies the IR after each pass up to a stage. Raises CompileError that names the first pass
        after which it is wrong.
        """
        module = self._kept[0].clone()
        for stage in self._stages[1 : index + 1]:
            self._apply_passes(stage, module, verify=True)

    def _next(self, index: int, before: ModuleOp) -> ModuleOp:
        """Runs one stage on its predecessor, in place unless that is kept."""
        stage = self._stages[index]
        if self.progress is not None:
            self.progress(Progress(stage.name))
        start = time.perf_counter()
        with python_lock, without_garbage_collection():
            module = before.clone() if before is self._kept.get(index - 1) else before
            self._apply_passes(stage, module, verify=self.verify is True)
        self.times[stage.name] = time.perf_counter() - start
        return module

    def _apply_passes(self, stage: Stage, module: ModuleOp, verify: bool) -> None:
        for p in parse_pipeline(stage.pipeline):
            apply_pass(p, self._context, module)
            if verify:
                verify_module(module, f"{p.name} (stage {stage.name})")


def parse_pipeline(spec: str) -> tuple[ModulePass, ...]:
    """
    Returns the passes that `spec` names, in the syntax of `glow-opt -p`. Raises GlowError if it is
    wrong.
    """
    return _parsed(spec, tuple(sys.path))


@lru_cache(maxsize=256)
def _parsed(spec: str, _search_path: tuple[str, ...]) -> tuple[ModulePass, ...]:
    """
    Passes are immutable, and to make them from a text takes a seventh of the compilation of a
    small graph, so those of a text are made once for each search path of modules.
    """
    try:
        return PassPipeline.parse_spec(multiverse().all_passes, spec).passes
    except ArgSpecParseError as error:
        # its text ends with a line with the error, after the line with its place
        reason = str(error).strip().splitlines()[-1].strip()
        raise GlowError(f"wrong pass pipeline {spec!r}: {reason}") from error
    except ValueError as error:
        raise GlowError(f"wrong pass pipeline {spec!r}: {error}") from error


def apply_pass(p: ModulePass, context: Context, module: ModuleOp) -> None:
    """
    Runs one pass. Any failure becomes a CompileError that names the pass and the operator; a
    ModelError if it is that the file of a weight cannot be read.
    """
    try:
        run_pass(p, context, module)
    except GlowError:
        raise
    except Exception as error:
        op: Operation | None = getattr(error, "operation", None)
        at = f" at {describe(op)}" if op is not None else ""
        # files that are missing, or shorter than the model says
        if op is not None and isinstance(error, OSError | ValueError):
            at += _weights_of(op)
        if isinstance(error, OSError):
            raise ModelError(f"{p.name} cannot read a weight{at}: {error}") from error
        raise CompileError(f"{p.name} failed{at}: {_first_line(error)}") from error


def verify_module(module: ModuleOp, after: str) -> None:
    """
    Verifies every operation. Raises CompileError that names the operator and `after` which pass.
    """
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            message = f"invalid IR after {after}: {describe(op)}: {_first_line(error)}"
            raise CompileError(message) from error


def describe(op: Operation) -> str:
    """Returns an operation in a message: its name, and that of its first result or of itself."""
    symbol = op.properties.get("sym_name")
    if isinstance(symbol, StringAttr):
        return f"{op.name} @{symbol.data}"
    hint = op.results[0].name_hint if op.results else None
    return f"{op.name} %{hint}" if hint else op.name


def _weights_of(op: Operation) -> str:
    """Returns the names of the constants that an operation reads, for a message."""
    owners = (value.owner for value in op.operands)
    hints = [o.result.name_hint for o in owners if isinstance(o, ConstantOp)]
    names = ", ".join(hint for hint in hints if hint)
    return f" with {names}" if names else ""


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    line = text.splitlines()[0] if text else ""
    known = isinstance(error, VerifyException | ValueError | NotImplementedError)
    return line if known and line else f"{type(error).__name__}: {line}"
