"""The input of a program that its random numbers follow from."""

from __future__ import annotations

import os
from itertools import count

import numpy as np


class RandomState:
    """A key that differs from model to model, and the number of the next call, in any thread."""

    def __init__(self) -> None:
        self._key = np.frombuffer(os.urandom(8), np.uint32)
        self._calls = count()

    def next_call(self) -> np.ndarray:
        """Returns u32[3]: the key, and the number of the call modulo 2**32, from 0."""
        call = next(self._calls) & 0xFFFFFFFF
        return np.append(self._key, np.uint32(call))
