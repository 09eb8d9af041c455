"""Training on several processes, beside one process with the whole batches."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Barrier, Thread

import glow
import numpy as np
import pytest
from glow import nn, training
from glow.errors import GlowError, InputError
from glow.runtime.cpu_program import CpuProgram
from glow.training import Adam, Batches, Processes
from glow.training.processes import Sums

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")
TOLERANCE = 1e-5


class Threads(Processes):
    """Threads of one process in the place of processes."""

    def __init__(self, rank: int, barrier: Barrier, given: list[list[np.ndarray]]):
        self.rank, self.count = rank, barrier.parties
        self._barrier, self._given = barrier, given

    def add_up(self, arrays: Iterable[np.ndarray]) -> None:
        self._exchange(arrays, lambda parts: np.sum(parts, axis=0))

    def sums(self, order: Iterable[Hashable]) -> Sums:
        return ThreadSums(self, order)

    def copy_first(self, arrays: Iterable[np.ndarray]) -> None:
        self._exchange(arrays, lambda parts: parts[0])

    def _exchange(self, arrays: Iterable[np.ndarray], combine) -> None:
        mine = list(arrays)
        self._given[self.rank] = [a.copy() for a in mine]
        self._barrier.wait(60)
        for array, *parts in zip(mine, *self._given, strict=True):
            array[...] = combine(parts)
        self._barrier.wait(60)


class ThreadSums:
    """Sums of threads, which happen in the end."""

    def __init__(self, threads: Threads, order: Iterable[Hashable]):
        self._threads, self._order = threads, list(order)
        self._complete: dict[Hashable, np.ndarray] = {}

    def add(self, name: Hashable, array: np.ndarray) -> None:
        self._complete[name] = array

    def finish(self) -> None:
        self._threads.add_up(self._complete[name] for name in self._order)


def _data(seed: int) -> Batches:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((22, 5)).astype(np.float32)
    y = np.tanh(x @ rng.standard_normal((5, 3))).astype(np.float32)
    return Batches(x, y, 7)


def _train(
    seed: int,
    processes: Processes | None,
    checkpoint: Path | None = None,
    backend: str = "interpreter",
) -> list:
    """Returns the losses of all epochs in training and validation, and the parameters."""
    network = nn.Sequential(nn.Linear(5, 11), nn.relu, nn.Linear(11, 3))
    network.initialize(seed if processes is None else seed + processes.rank)
    optimizer = Adam(1e-2, clip_norm=0.3)
    trainer = glow.Trainer(
        *(network, nn.mean_squared_error, optimizer), backend=backend, processes=processes
    )
    options = {"validation": list(_data(seed + 1).epoch(0)), "checkpoint": checkpoint}
    reports = trainer.fit(_data(seed), 2, accumulate=3, progress=False, **options)
    losses = [np.array([r.loss, r.validation["loss"]]) for r in reports]
    return [*losses, *trainer.parameters.values()]


def _assert_equal(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> None:
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("count", [2, 3])
def test_equals_one_process(count: int, rng: np.random.Generator):
    """Parts of seven examples have different sizes, and each step has three batches."""
    seed = int(rng.integers(1 << 30))
    barrier, given = Barrier(count), [list[np.ndarray]() for _ in range(count)]
    found: dict[int, list] = {}

    def run(rank: int) -> None:
        found[rank] = _train(seed, Threads(rank, barrier, given))

    threads = [Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = _train(seed, None)
    for rank in range(count):
        _assert_equal(found[rank], wanted)


def test_a_batch_of_too_few_examples():
    processes = Threads(0, Barrier(3), [[]])
    with pytest.raises(InputError, match=r"at least 3 examples.*\(2, 5\)"):
        processes.part((np.zeros((2, 5)), np.zeros(2)))


PROGRAM = """
import os, sys, numpy as np
from pathlib import Path
from glow.errors import GlowError
from glow.training import Processes
sys.path.insert(0, sys.argv[1])
from test_processes import _train, noted
rank, folder = int(os.environ["RANK"]), Path(sys.argv[2])
try:
    processes = Processes()
    events = noted(processes)
    found = _train(int(sys.argv[3]), processes, folder / "checkpoint", "cpu")
    (folder / f"{rank}.events").write_text(" ".join(events))
    np.savez(folder / f"{rank}.npz", *found)
    if rank == 1:
        os._exit(0)
    many = [np.ones(3, np.float32), np.ones(400_000, np.float32), np.ones((2, 5), np.float64)]
    processes.add_up(many)
except GlowError as e:
    sys.exit(str(e))
"""


def noted(processes: Processes) -> list[str]:
    """
    Returns a list to which events are added: compiled programs run and end, and sums begin. Each
    array is then larger than a bucket.
    """
    events: list[str] = []
    begin, run = processes.begin_sum, CpuProgram.run_into

    def begin_sum(tensors: Sequence) -> Callable[[], None]:
        events.append("begun")
        return begin(tensors)

    def run_into(
        self: CpuProgram, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
    ) -> None:
        events.append("run")
        run(self, inputs, outputs)
        events.append("ended")

    processes.begin_sum, CpuProgram.run_into = begin_sum, run_into
    training.processes.BUCKET_BYTES = 1
    return events


def _start(tmp_path: Path, seed: int, count: int) -> list[subprocess.Popen[str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), str(tmp_path), str(seed)]
    environments = [{**os.environ, **where, "RANK": str(rank)} for rank in range(count)]
    return [
        subprocess.Popen(command, env=e, stderr=subprocess.PIPE, text=True) for e in environments
    ]


@needs_torch
@pytest.mark.parametrize("count", [2, 3])
def test_processes(count: int, tmp_path: Path, rng: np.random.Generator):
    """The second process ends without a word, which is an error in all others."""
    seed = int(rng.integers(1 << 30))
    running = _start(tmp_path, seed, count)
    running[1].wait(120)
    ended = time.monotonic()
    messages = [p.communicate(timeout=60)[1] for p in running]
    assert time.monotonic() - ended < 20
    wanted = _train(seed, None, tmp_path / "alone")
    for rank in range(count):
        events = (tmp_path / f"{rank}.events").read_text()
        # the sums of four gradients begin while the program of the last batch of a step runs
        assert events.count("run begun begun begun begun ended") == 2
        with np.load(tmp_path / f"{rank}.npz") as found:
            _assert_equal(list(found.values()), wanted)
        if rank != 1:
            assert running[rank].returncode == 1
            assert "another process of the training has ended" in messages[rank]
    resumed = glow.Trainer(
        nn.Sequential(nn.Linear(5, 11), nn.relu, nn.Linear(11, 3)),
        *(nn.mean_squared_error, Adam(1e-2, clip_norm=0.3)),
    )
    resumed.restore(tmp_path / "checkpoint")
    assert (resumed.epoch, resumed.step) == (2, 2)
    _assert_equal(list(resumed.parameters.values()), wanted[2:])


@needs_torch
def test_processes_that_do_not_come_together(monkeypatch: pytest.MonkeyPatch):
    for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(GlowError, match="start them with torchrun"):
        Processes()


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(GlowError, match=r"pip install 'glow\[processes\]'"):
        Processes()
