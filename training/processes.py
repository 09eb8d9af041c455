"""
Data-parallel training: each process computes the gradients of its part of every batch.

The processes add up their gradients by `torch.distributed` with its backend gloo (Li et al. 2020,
"PyTorch Distributed"). Then each one makes the same update of the same parameters.
"""

from __future__ import annotations

import atexit
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import timedelta
from typing import Any, Protocol, TypeVar

import numpy as np

from ..errors import GlowError, InputError
from .data import Batch, parts_of

T = TypeVar("T")

BUCKET_BYTES = 1 << 20
"""Small arrays are added up together, up to so many bytes: each sum waits for the network once."""


class Sums(Protocol):
    """
    Sums of arrays over all processes. A sum begins when its arrays are complete, and ends while the
    process does other work. All processes begin sums in the same order, whenever arrays are
    complete in each of them.
    """

    def add(self, name: Hashable, array: np.ndarray) -> None:
        """
        Takes an array that is complete, unless it is none to be summed; its memory must not be used
        until the end. Raises GlowError if a process has ended.
        """
        ...

    def finish(self) -> None:
        """
        Waits until all arrays are replaced by their sums. Raises GlowError if a process has ended
        or does not answer.
        """
        ...


class Processes:
    """
    The processes of a training. A launcher has started them, such as `torchrun` or Ray Train, all
    with the same program and data. The loss is a mean over the examples of a batch.
    """

    def __init__(self, timeout: float = 1800.0):
        """
        Joins the others. `torch.distributed` reads where they are from the variables MASTER_ADDR,
        MASTER_PORT, RANK and WORLD_SIZE; a launcher that has joined them already, as Ray Train
        does, is fine too. `timeout` is the number of seconds after which a process that does not
        answer is an error; one that has ended is an error at once.

        Raises GlowError without PyTorch, and if the processes do not come together.
        """
        # PyTorch takes a second to load, and is an extra
        try:
            import torch  # pyright: ignore[reportMissingImports]
            from torch import distributed  # pyright: ignore[reportMissingImports]
        except ImportError as e:
            raise GlowError(
                "training on several processes needs PyTorch: pip install 'glow[processes]'"
            ) from e
        self._torch: Any = torch
        self._distributed: Any = distributed
        if not distributed.is_initialized():
            limit = timedelta(seconds=timeout)
            try:
                distributed.init_process_group("gloo", timeout=limit)
                atexit.register(self._leave)
            except (ValueError, RuntimeError) as e:
                raise GlowError(
                    f"the processes of the training did not come together: {e}; start them with "
                    "torchrun, or set MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE"
                ) from e
        self.rank = int(distributed.get_rank())
        """The number of this process. The first one is 0."""
        self.count = int(distributed.get_world_size())

    def part(self, batch: Batch) -> tuple[Batch, float]:
        """
        Returns this process's examples of a batch, and their share of all. Raises InputError for
        a batch with fewer examples than there are processes.
        """
        inputs, targets = parts_of(batch)
        size = len(inputs[0]) if inputs and inputs[0].ndim else 0
        if size < self.count or any(a.shape[:1] != (size,) for a in (*inputs, *targets)):
            shapes = ", ".join(str(a.shape) for a in (*inputs, *targets))
            raise InputError(
                f"expected arrays of at least {self.count} examples, one for each process, found "
                f"the shapes {shapes}"
            )
        first, end = (size * r // self.count for r in (self.rank, self.rank + 1))
        mine = ([a[first:end] for a in arrays] for arrays in (inputs, targets))
        return (next(mine), next(mine)), (end - first) / size

    def total(self, values: Sequence[float]) -> np.ndarray:
        """Returns the sums of some numbers of each process, f64."""
        sums = np.array(values, np.float64)
        self.add_up([sums])
        return sums

    def add_up(self, arrays: Iterable[np.ndarray]) -> None:
        """
        Replaces arrays by their sums over all processes, which are the same to the bit in each.

        Raises GlowError if a process has ended or does not answer.
        """
        named = dict(enumerate(arrays))
        sums = self.sums(named)
        for number, array in named.items():
            sums.add(number, array)
        sums.finish()

    def sums(self, order: Iterable[Hashable]) -> Sums:
        """Returns sums of arrays that are complete one after the other; see `Sums`."""
        return _Buckets(self, order)

    def begin_sum(self, tensors: Sequence[Any]) -> Callable[[], None]:
        """
        Begins to replace flat tensors of one type by their sums over all processes. Returns a
        function that waits for the result. Both raise GlowError as `add_up` does.
        """
        flat = tensors[0] if len(tensors) == 1 else self._torch.cat(tensors)
        work = self._meet(lambda: self._distributed.all_reduce(flat, async_op=True))

        def finish() -> None:
            self._meet(work.wait)
            if len(tensors) > 1:
                parts = flat.split([len(t) for t in tensors])
                for tensor, added in zip(tensors, parts, strict=True):
                    tensor.copy_(added)

        return finish

    def copy_first(self, arrays: Iterable[np.ndarray]) -> None:
        """Replaces arrays by those of the first process."""
        for array in arrays:
            self._meet(lambda array=array: self._distributed.broadcast(self.flat(array), 0))

    def flat(self, array: np.ndarray) -> Any:
        """Returns the memory of an array as a tensor of one dimension."""
        flat = array.reshape(-1)
        assert np.shares_memory(flat, array) or not array.size
        if flat.dtype.name == "bfloat16":  # a type of the package ml_dtypes
            return self._torch.from_numpy(flat.view(np.int16)).view(self._torch.bfloat16)
        return self._torch.from_numpy(flat)

    def _meet(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except RuntimeError as e:
            self._leave()
            raise GlowError(
                f"another process of the training has ended or does not answer: {e}; start all of "
                "them again, which continue from the last checkpoint"
            ) from e

    def _leave(self) -> None:
        """Ends the threads of gloo, which else may abort this process when it ends."""
        if self._distributed.is_initialized():
            self._distributed.destroy_process_group()


class _Buckets:
    """Sums of buckets of small arrays, in the order of the arrays (Li et al. 2020, section 3.2)."""

    def __init__(self, processes: Processes, order: Iterable[Hashable]):
        self._processes = processes
        self._expected = deque(order)
        self._complete: dict[Hashable, np.ndarray] = {}
        self._bucket: list[Any] = []
        self._under_way: list[Callable[[], None]] = []

    def add(self, name: Hashable, array: np.ndarray) -> None:
        self._complete[name] = array
        while self._expected and self._expected[0] in self._complete:
            self._put(self._complete.pop(self._expected.popleft()))
        if not self._expected:
            self._begin()

    def _put(self, array: np.ndarray) -> None:
        tensor = self._processes.flat(array)
        filled = sum(t.nbytes for t in self._bucket) + tensor.nbytes
        if self._bucket and (tensor.dtype != self._bucket[0].dtype or filled > BUCKET_BYTES):
            self._begin()
        self._bucket.append(tensor)
        if tensor.nbytes >= BUCKET_BYTES:
            self._begin()

    def _begin(self) -> None:
        if self._bucket:
            bucket, self._bucket = self._bucket, []
            self._under_way.append(self._processes.begin_sum(bucket))

    def finish(self) -> None:
        for wait in self._under_way:
            wait()
