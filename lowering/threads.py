"""
Code that runs one program on several threads: workers, calls, and barriers. It is IR of the `llvm`
dialect, in `threads.mlir` and `processors.mlir`.

A team is a block of memory and the threads that wait on it. Its words are counters that only one
thread writes at a time and that only grow (modulo 2**32), so that waiting is always the same thing:
until a counter has reached a number. Who waits spins for a limited number of pauses, then sleeps on
a futex of that counter; who counts wakes sleepers, if there are any. `sleepers` is raised before
the counter is looked at for the last time, and read after the counter is raised, all in one order
(`seq_cst`), so no wake-up is lost.

In a call a thread spins for up to a millisecond, because what it waits for is rarely far. If that
is in vain, another program has the processor of a thread that it waits for. So the next 1024 waits
of the thread are as short as those between calls: a processor that is left alone can take the
other thread over.

If another program has a processor for long, the system may put two threads of a team on one
processor. Then what a thread waits for cannot happen while it spins. So each thread notes the
number of its processor when it counts and after it slept, and a thread that waits for one that
noted the same number sleeps at once.

Some systems wake a thread on the processor of the thread that woke it, although others are idle,
and leave it there for as long as a call takes. So the affinity of a worker, which is what others
allow, is left without the processors that other threads of the team have noted. Thread 0 looks at
that before it wakes the workers, and a worker after it slept. If a thread sleeps for more than a
millisecond in a call, although the one that it waits for has a processor of its own, another
program has that processor. Three such sleeps give the workers back what others allow; then the
system decides. When waits are no longer short, half of the sleeps are forgotten. If others change
the affinity of a worker, that is what they allow.

Some work is divided while it runs, so that a thread that is slower, or came later, does less of it.
All threads draw tickets from one counter. The portions of all pieces of work of a call are numbered
one after the other; a ticket is the right to the portion of that number. A thread that draws a
ticket beyond the piece that it works on is done with that piece, and keeps the ticket for the next
one. So nothing is ever reset, and threads may be in different pieces at a time. When a call ends,
each thread has a ticket that it cannot use; all throw them away, and count on from there.

Layout of a team of n threads, a cache line for whatever is written by different threads:

| bytes | contents |
|---|---|
| 0 | i32: how many calls there were |
| 64 | i32: how many threads sleep |
| 128 | of the present call: entry, weights, io, arena (pointers) |
| 160 | i64: n |
| 168 | i64: pauses before sleeping in a call |
| 176 | i32: whether workers shall end |
| 184 | i64: pauses before sleeping between calls |
| 192 | i64: how many tickets were drawn |
| 256 + 384 t | of thread t: i32 barriers it has reached, i32 calls it has done, team, i64 t, |
| | i64 the number of the first portion of its piece, i64 its ticket, i64 whether it has one, |
| | i64 how many of its next waits are short, i32 the number of its processor and 1 (0: unknown) |
| + 64 | of a worker: i64 pthread_self (0: not started), i32 whether its affinity is what is left, |
| + 80 | of thread t: i64 how often it slept long in a call |
| + 128 | of a worker: 1024 bits, the processors that others allow; 1024 bits, those left of them |

A worker's parameter is the address of its own line, as `pthread_create` has one parameter only. An
entry is `void entry(weights, io, arena, team, t)`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ..errors import GlowError

BARRIER = "glow_barrier"
"""`void glow_barrier(team, i64 t)`: returns when all threads of the team have called it."""
NEXT = "glow_next"
"""
`i64 glow_next(team, i64 t, i64 n)`: the next portion, 0 to n - 1, of a piece of work of n portions
that thread t is to do; n if there is none left. All threads of the team call it for the same pieces
in the same order, and for each of them until it returns n.
"""
WORKER = "glow_worker"
"""`void *glow_worker(line)`: what a thread other than 0 does; returns when the team ends."""
RUN = "glow_run"
"""`void glow_run(team, entry, weights, io, arena)`: what thread 0 does for one call."""
END = "glow_end"
"""`void glow_end(team)`: lets the workers return."""
PAUSES = "glow_pauses"
"""`void glow_pauses(i64 n)`: as long as n spins of a waiting thread take, at least."""

LINE = 384
THREADS, SPINS, IDLE_SPINS, LINES = 160, 168, 184, 256
"""Offsets in a team."""
LINE_TEAM, LINE_THREAD, LINE_SHORT, LINE_PROCESSOR, LINE_LONG = 8, 16, 48, 56, 80
"""Offsets in a thread's line."""


def team_bytes(threads: int) -> int:
    return LINES + LINE * threads


CODE = [Path(__file__).with_name(name) for name in ("threads.mlir", "processors.mlir")]
"""The code, for x86-64. The second file uses names of types of the first one."""
_FUTEX = "%futex = llvm.mlir.constant({})"
_PLATFORMS = {
    "x86_64": ('llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()', 202),
    "aarch64": ('llvm.call_intrinsic "llvm.aarch64.hint"(%single) : (i32) -> ()', 98),
}
"""
For each processor, the call that tells it that this is a spinning loop, and the number of the
system call futex.
"""


def module_text(triple: str) -> str:
    """
    Returns the code as text of the `llvm` dialect, for a target. Raises GlowError if it has no
    futex that we know of.
    """
    processor = triple.split("-")[0]
    if processor not in _PLATFORMS or "linux" not in triple:
        raise GlowError(
            f"programs run on 1 thread on {triple}; on several on Linux for "
            f"{' and '.join(_PLATFORMS)}"
        )
    (own_pause, own_futex), (pause, futex) = _PLATFORMS["x86_64"], _PLATFORMS[processor]
    text = "\n".join(file.read_text(encoding="utf-8") for file in CODE)
    text = text.replace(own_pause, pause)
    return text.replace(_FUTEX.format(own_futex), _FUTEX.format(futex))


@cache
def llvm_text(triple: str) -> str:
    """Returns the code as LLVM IR. Raises GlowError like `module_text`."""
    # a program from the cache needs the layout above, and no xDSL
    from xdsl.parser import Parser

    from ..context import make_context
    from .llvm.translate import translate_module

    return translate_module(Parser(make_context(), module_text(triple)).parse_module())
