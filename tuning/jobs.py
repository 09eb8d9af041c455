"""The distinct kernels of a network, which the search measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ..glow_dialects.glow_inst.instruction import buffer_of
from ..glow_dialects.glow_inst.memory import WeightOp
from ..glow_dialects.glow_nest.call import CallOp
from ..glow_dialects.glow_nest.content import accesses_of, with_unique_names
from ..glow_dialects.glow_nest.kernel import KernelOp
from ..glow_dialects.glow_nest.nest import Nest
from ..glow_dialects.glow_nest.ops import ListNonzerosOp, NestOp, RepeatListedOp, StepOp
from ..glow_dialects.glow_nest.schedule_text import with_loops
from ..glow_dialects.glow_nest.simplification import simplified
from ..glow_dialects.glow_nest.steps import KernelSteps
from ..glow_dialects.machine import MachineDescription
from ..lowering.kernels.schedule_nests import kernel_key
from ..lowering.kernels.schedules.around import ALONE, Around, loops_around
from ..lowering.kernels.split_reductions import split_reductions
from .candidates import has_alternatives


@dataclass(frozen=True)
class Job:
    """A distinct kernel of a network."""

    key: str
    kernel: KernelOp
    """Its nests have no schedules yet."""
    weights: Sequence[bool]
    """Which parameters are weights."""
    calls: int
    share: float
    """Seconds that it takes in a run of the network."""
    has_alternatives: bool
    """Whether there are other schedules, and it can be measured."""

    @property
    def name(self) -> str:
        return self.kernel.sym_name.data


def jobs_of(
    nests: ModuleOp, machine: MachineDescription, seconds: Sequence[float] = ()
) -> list[Job]:
    """
    Returns the distinct kernels of the stage `nests`, those first that take most time. `seconds`
    are those of the calls in their order; without them, all calls take as long.
    """
    module = nests.clone()
    ops = [op for op in module.walk() if isinstance(op, CallOp)]
    calls: dict[str, list[tuple[CallOp, float]]] = {}
    for op, taken in zip(ops, seconds or [1.0] * len(ops), strict=True):
        calls.setdefault(op.callee.string_value(), []).append((op, taken))
    found: list[Job] = []
    for op in list(module.body.block.ops):
        if isinstance(op, KernelOp) and (users := calls.get(op.sym_name.data)):
            split_reductions(op, machine)
            weights = [_is_weight(v) for v in users[0][0].arguments]
            chosen = _can_be_measured(op) and any(
                has_alternatives(n.nest, machine) for n in nests_of(op, machine)
            )
            share = sum(taken for _, taken in users)
            found.append(Job(kernel_key(op), op.clone(), weights, len(users), share, chosen))
    return joined(found)


def joined(jobs: Iterable[Job]) -> list[Job]:
    """Returns the jobs with those of one kernel as one, those first that take most time."""
    found: dict[str, Job] = {}
    for job in jobs:
        if (same := found.get(job.key)) is not None:
            job = replace(same, calls=same.calls + job.calls, share=same.share + job.share)
        found[job.key] = job
    return sorted(found.values(), key=lambda job: -job.share)


@dataclass(frozen=True)
class NumberedNest:
    """A nest of a kernel as `schedule_nests` numbers and sees it."""

    number: int
    nest: Nest
    around: Around


def nests_of(kernel: KernelOp, machine: MachineDescription) -> Sequence[NumberedNest]:
    """Returns the nests of a kernel that have elements."""
    steps = KernelSteps(kernel)
    around, found = loops_around(steps, machine), []
    for number, op in enumerate(op for op in kernel.walk() if isinstance(op, NestOp)):
        nest = steps.nest(op)
        if not nest.is_empty:
            nest, change = with_unique_names(simplified(nest))
            found.append(NumberedNest(number, nest, with_loops(around.get(op, ALONE), change)))
    return found


def alone(job: Job, number: int) -> Job | None:
    """
    Returns the job with one nest of its kernel, in the loops around it; None if that is the whole
    kernel, or if what the nest does depends on what others leave.
    """
    kernel = job.kernel.clone()
    steps = [op for op in kernel.walk() if isinstance(op, StepOp)]
    whole = len(steps) == 1 or not all(isinstance(op, NestOp) for op in steps)
    if whole or any(a.indirect for op in steps for a in accesses_of(op.contents().step)):
        return None
    for i, op in enumerate(steps):
        if i != number:
            Rewriter.erase_op(op)
    return replace(job, kernel=kernel)


def _is_weight(value: SSAValue) -> bool:
    return isinstance(buffer_of(value).owner, WeightOp)


def _can_be_measured(kernel: KernelOp) -> bool:
    """Returns whether a kernel runs on random data: it makes the lists whose steps it runs."""
    steps = KernelSteps(kernel)
    lists = (steps.loop_over_list(op) for op in kernel.walk() if isinstance(op, RepeatListedOp))
    return all(
        access.buffer.parameter is None
        for each in lists
        for access in (each.numbers.place, each.numbers.count)
    )


def indices_of(kernel: KernelOp) -> Mapping[int, int]:
    """
    Returns the parameters whose elements are indices, by number, and how many places these choose
    from.
    """
    steps, found = KernelSteps(kernel), {}
    for op in kernel.walk():
        if isinstance(op, NestOp):
            for access in accesses_of(steps.nest(op)):
                if (i := access.indirect) is not None and i.access.buffer.parameter is not None:
                    found[i.access.buffer.parameter] = i.size
    return found


def listed_of(kernel: KernelOp) -> Iterator[int]:
    """Yields the parameters, by number, whose elements that are not zero are listed."""
    steps = KernelSteps(kernel)
    for op in kernel.walk():
        if isinstance(op, ListNonzerosOp):
            buffer = steps.content(op).buffers[0]
            yield from (b.parameter for b in [buffer] if b.parameter is not None)
