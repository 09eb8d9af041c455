"""
Loops whose iterations threads divide.

Threads divide the iterations of a `Repeat` if these are numerous and independent; each thread has
its own copy of the scratch that the iterations use. Otherwise all threads run all iterations, and
divide the nests inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ....glow_dialects.elements import element_bytes
from ....glow_dialects.glow_nest.affine import Buffer
from ....glow_dialects.glow_nest.nest import Repeat, Step
from ....glow_dialects.timings import TIMINGS
from .overlap import is_self_contained, may_meet, nests_of, reads_of
from .split import is_balanced


@dataclass(frozen=True)
class Divided:
    """Nested loops whose iterations are divided between threads."""

    loops: tuple[Repeat, ...]
    private: tuple[Buffer, ...]
    """Scratch of which each thread has a copy in these loops."""


def divided_loops(
    steps: Sequence[Step], threads: int, kernel: Sequence[Step] = ()
) -> dict[Repeat, Divided]:
    """
    Returns the outermost loops of steps that can be divided; the key of nested loops is the first
    of them. The steps are those of a loop in `kernel`, or by default a whole kernel.
    """
    kernel, found = kernel or steps, dict[Repeat, Divided]()
    for step in steps:
        if isinstance(step, Repeat):
            # a loop over rows may be short, so one inside of it is preferred
            inner = divided_loops(step.steps, threads, kernel) if step.dim.limit else {}
            chosen = None if inner else _divide(step, kernel, threads)
            if chosen:
                inner = {step: chosen}
            found |= inner or divided_loops(step.steps, threads, kernel)
    return found


def _divide(loop: Repeat, kernel: Sequence[Step], threads: int) -> Divided | None:
    loops = [loop]
    while True:
        iterations = prod(r.dim.size for r in loops)
        if iterations > 1 and is_balanced(iterations, threads):
            break
        inner = loops[-1].steps
        if len(inner) != 1 or not isinstance(inner[0], Repeat):
            return None
        loops.append(inner[0])
    private = _private(loops, kernel)
    if private is None or _interleave(loops, private, threads):
        return None
    return Divided(tuple(loops), private)


def _interleave(loops: Sequence[Repeat], private: Sequence[Buffer], threads: int) -> bool:
    """
    Returns whether threads would write short pieces of memory in turns, as columns of the same
    rows, and do little else. A processor fetches lines behind those that it writes, and takes them
    from another one.
    """
    per_thread, dim = prod(r.dim.size for r in loops) // threads, loops[-1].dim
    operations = per_thread * _operations(loops[-1].steps)
    for loop in reversed(loops):
        dim = loop.dim
        if per_thread < dim.size:
            break
        per_thread //= dim.size
    for nest in nests_of(loops[-1].steps):
        for write in nest.writes:
            strides = {d: s for d, s in write.place.terms.items() if isinstance(s, int)}
            piece = strides.get(dim, 0)
            if write.buffer in private or piece <= 0:
                continue
            around = prod(d.size for d in nest.parallel if strides.get(d, 0) > piece)
            is_short = piece * per_thread * element_bytes(write.element) < TIMINGS.least_piece
            if around > 1 and is_short and operations < TIMINGS.least_piece_operations * around:
                return True
    return False


def _operations(steps: Sequence[Step]) -> int:
    """Returns how many terms and elements are computed, with one iteration of loops over lists."""
    return sum(
        step.dim.size * _operations(step.steps)
        if isinstance(step, Repeat)
        else sum(nest.visited for nest in nests_of([step]))
        for step in steps
    )


def _private(loops: Sequence[Repeat], kernel: Sequence[Step]) -> tuple[Buffer, ...] | None:
    """
    Returns the buffers that each iteration of nested loops needs for itself; None if iterations
    depend on each other.
    """
    inside, private = loops[-1].steps, []
    nests = list(nests_of(inside))
    accesses = [a for nest in nests for a in (*reads_of(nest), *nest.writes)]
    for buffer in dict.fromkeys(a.buffer for nest in nests for a in nest.writes):
        written = [a for nest in nests for a in nest.writes if a.buffer is buffer]
        # scratch that carries nothing into an iteration or out of the loops
        if (
            buffer.parameter is None
            and is_self_contained(inside, buffer)
            and is_self_contained(kernel, buffer, without=loops[0])
        ):
            private.append(buffer)
        elif any(may_meet(written, accesses, r.dim) for r in loops if r.dim.size > 1):
            return None
    return tuple(private)
