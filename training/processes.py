"""
Data-parallel training: each process computes the gradients of its part of every batch.

The processes add up their gradients by `torch.distributed` with its backend gloo (Li et al. 2020,
"PyTorch Distributed"). Then each one makes the same update of the same parameters.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np

from ..errors import GlowError, InputError
from .data import Batch, parts_of

T = TypeVar("T")

BUCKET_BYTES = 1 << 20
"""Small arrays are added up together, up to so many bytes: each sum waits for the network once."""


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
        Replaces arrays by their sums over all processes, which are the same to the bit in each. A
        bucket of small arrays is filled while the sums of earlier ones are under way.

        Raises GlowError if a process has ended or does not answer.
        """
        under_way: list[tuple[Any, Any, list[Any]]] = []
        for bucket in self._buckets(arrays):
            flat = bucket[0] if len(bucket) == 1 else self._torch.cat(bucket)
            work = self._meet(lambda flat=flat: self._distributed.all_reduce(flat, async_op=True))
            under_way.append((work, flat, bucket))
        for work, flat, bucket in under_way:
            self._meet(work.wait)
            if len(bucket) > 1:
                for tensor, added in zip(bucket, flat.split([len(t) for t in bucket]), strict=True):
                    tensor.copy_(added)

    def copy_first(self, arrays: Iterable[np.ndarray]) -> None:
        """Replaces arrays by those of the first process."""
        for array in arrays:
            self._meet(lambda array=array: self._distributed.broadcast(self._flat(array), 0))

    def _buckets(self, arrays: Iterable[np.ndarray]) -> Iterator[list[Any]]:
        """Yields tensors of one type that share the memory of arrays."""
        bucket: list[Any] = []
        for tensor in map(self._flat, arrays):
            filled = sum(t.nbytes for t in bucket)
            if bucket and (
                tensor.dtype != bucket[0].dtype or filled + tensor.nbytes > BUCKET_BYTES
            ):
                yield bucket
                bucket = []
            bucket.append(tensor)
        if bucket:
            yield bucket

    def _flat(self, array: np.ndarray) -> Any:
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
