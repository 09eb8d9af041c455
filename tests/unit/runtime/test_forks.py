"""Processes that fork while other threads compile."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import glow
import numpy as np
import onnx
import pytest
from glow.lazy import lazy_property
from glow.models.specialization import LatestUsed
from glow.passes.collector import without_garbage_collection
from glow.runtime.gil_switch import python_lock, short_gil_switch
from glow.runtime.stages import Progress
from glow.tests.support.seeds import start_run, start_test
from glow.tests.unit.runtime.team_checks import check_same, graph, in_child
from onnx import helper

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux only")

Wait = Callable[[], object]


@contextmanager
def another_thread(work: Callable[[Wait], object]) -> Iterator[None]:
    """Runs `work(wait)` in another thread, which is at `wait` meanwhile."""
    there, leave = threading.Event(), threading.Event()

    def wait() -> None:
        there.set()
        leave.wait(60)

    thread = threading.Thread(target=work, args=(wait,))
    thread.start()
    there.wait(60)
    try:
        yield
    finally:
        leave.set()
        thread.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_has_the_settings_of_a_process_that_does_not_compile():
    interval = sys.getswitchinterval()

    def compiling(wait: Wait) -> None:
        with python_lock, short_gil_switch(), without_garbage_collection():
            wait()

    def is_free() -> bool:
        with python_lock, short_gil_switch(), without_garbage_collection():
            used = not gc.isenabled() and sys.getswitchinterval() < interval
        return used and gc.isenabled() and sys.getswitchinterval() == interval

    with another_thread(compiling):
        assert not gc.isenabled()
        assert in_child(lambda: gc.isenabled() and sys.getswitchinterval() == interval)
        assert in_child(is_free)
    assert gc.isenabled()
    assert sys.getswitchinterval() == interval


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_thread_that_forks_while_it_compiles_goes_on_in_the_child():
    with python_lock, without_garbage_collection():
        assert in_child(lambda: not gc.isenabled())

    def leave() -> bool:
        using.__exit__(None, None, None)
        return gc.isenabled()

    using = without_garbage_collection()
    using.__enter__()
    assert in_child(leave)
    using.__exit__(None, None, None)


class Slow:
    """Something with a property that takes until it is told."""

    def __init__(self, begun: threading.Event, may_end: threading.Event):
        self.begun, self.may_end = begun, may_end

    @lazy_property
    def number(self) -> int:
        self.begun.set()
        self.may_end.wait(60)
        return 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_reads_a_property_that_another_thread_computes():
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()
    ended.set()
    thread = threading.Thread(target=lambda: Slow(begun, may_end).number)
    thread.start()
    begun.wait(60)
    try:
        assert in_child(lambda: Slow(threading.Event(), ended).number == 1)
    finally:
        may_end.set()
        thread.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_makes_a_value_that_another_thread_makes():
    waits: list[Wait] = []

    def make(key: int) -> int:
        if waits:
            waits[0]()
        return key + 1

    def get(wait: Wait) -> None:
        waits.append(wait)
        kept.get(5)

    def is_made() -> bool:
        waits.clear()
        return kept.get(5) == 6

    kept = LatestUsed(make, 2)
    with another_thread(get):
        assert in_child(is_made)
    assert kept.values() == [6]


def negation() -> onnx.ModelProto:
    """Returns a network for any number of rows."""
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, ["n", 3]) for n in "xy")
    made = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "negation", [x], [y])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_specializes_a_model_that_another_thread_specializes(rng: np.random.Generator):
    waits: list[Wait] = []

    def progress(_: Progress) -> None:
        if waits:
            waits.pop()()

    def specialize(wait: Wait) -> None:
        waits.append(wait)
        model.specialize({"n": 5})

    def runs() -> bool:
        waits.clear()
        return np.array_equal(model(x)[0], -x)

    x = rng.standard_normal((5, 3), dtype=np.float32)
    model = glow.compile(negation(), cache=False, progress=progress)
    model.specialize({"n": 2})  # imports what a compilation needs
    model.specialize({"n": 7})
    with another_thread(specialize):
        assert in_child(runs)


def compile_in_children(seed: int) -> None:
    """Compiles in forked children, and in a thread at the same time."""
    start_run(seed)
    start_test(compile_in_children.__name__)
    single = glow.compile(graph(), cache=False)
    stop, wrong = threading.Event(), []

    def keep_compiling() -> None:
        while not stop.is_set():
            try:
                glow.compile(graph(), cache=False)
            except BaseException as error:
                wrong.append(error)
                raise

    def compiles() -> bool:
        check_same(glow.compile(graph(), threads=2, cache=False), single, 1)
        return True

    thread = threading.Thread(target=keep_compiling)
    thread.start()
    try:
        for _ in range(3):
            assert in_child(compiles)
    finally:
        stop.set()
        thread.join()
    assert not wrong


def test_children_compile_while_another_thread_does(rng: np.random.Generator):
    """In a process of its own, whose children inherit nothing from other tests."""
    seed = rng.integers(1 << 32)
    work = f"from {__name__} import compile_in_children; compile_in_children({seed})"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", work], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
