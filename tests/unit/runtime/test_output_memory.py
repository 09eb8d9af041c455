"""Outputs are apart from all that a caller still has, and their memory is used again."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Thread
from weakref import finalize

import numpy as np
import pytest
from glow.runtime.output_memory import OutputMemory

SHAPE = (300, 200)


def memory(*shapes: tuple[int, ...]) -> OutputMemory:
    return OutputMemory([(shape, np.dtype(np.float32)) for shape in shapes])


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_memory_that_nobody_has_is_used_again():
    of = memory(SHAPE)
    (first,) = of.arrays()
    assert (first.shape, first.dtype) == (SHAPE, np.float32)
    at = address(first)
    del first
    (again,) = of.arrays()
    assert address(again) == at


@pytest.mark.parametrize(
    "keep",
    [
        lambda array: array,
        lambda array: array[1:2, ::3],
        lambda array: {"x": [array]},
        lambda array: memoryview(array),
        lambda array: array.reshape(-1).view(np.uint8),
        lambda array: np.from_dlpack(array),
    ],
    ids=["array", "part", "container", "buffer", "view", "dlpack"],
)
def test_memory_that_somebody_has_is_not(keep: Callable[[np.ndarray], object]):
    of = memory(SHAPE)
    (first,) = of.arrays()
    kept = keep(first)
    at = address(first)
    del first
    others = [of.arrays()[0] for _ in range(3)]
    assert all(address(other) != at for other in others)
    del kept


def test_outputs_of_a_call_are_apart():
    first, second, small = memory(SHAPE, SHAPE, (2,)).arrays()
    assert not np.shares_memory(first, second)
    assert small.shape == (2,)


def test_the_program_that_ran_last_keeps_memory():
    first, second, small = memory(SHAPE), memory(SHAPE), memory((2,))
    freed = []
    (array,) = first.arrays()
    finalize(array, freed.append, "first")
    del array
    small.arrays()
    assert not freed
    second.arrays()
    assert freed == ["first"]


def test_threads_have_arrays_of_their_own():
    of, together, found = memory(SHAPE), Barrier(4), []

    def work(number: int) -> None:
        for _ in range(200):
            together.wait()
            (array,) = of.arrays()
            array[:] = number
            together.wait()
            found.append(bool((array == number).all()))
            del array

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 800
    assert all(found)
