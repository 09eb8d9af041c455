"""
Random numbers that one number repeats: the seed of a run of pytest.

The seed of a test follows from the seed of the run and the node id of the test, so it is the same
in whichever process, in whichever order, and with whichever other tests the test runs.
"""

from __future__ import annotations

import zlib

import numpy as np

_run: int | None = None
_seed: int | None = None
_generator: np.random.Generator | None = None


def fresh_seed() -> int:
    """Returns a number below 2**32 that the operating system draws."""
    return int(np.random.SeedSequence().generate_state(1)[0])  # fresh on purpose


def seed_of(run: int, node: str) -> int:
    """Returns the seed below 2**32 of the test with that node id in the run with that seed."""
    return int(np.random.SeedSequence([run, zlib.crc32(node.encode())]).generate_state(1)[0])


def start_run(seed: int) -> None:
    """Says which seed the run has."""
    global _run
    _run = seed


def start_test(node: str) -> None:
    """Gives the test that starts now its generator."""
    global _generator, _seed
    assert _run is not None
    _seed = seed_of(_run, node)
    _generator = np.random.default_rng(_seed)


def generator() -> np.random.Generator:
    """
    Returns the generator of the running test, for helpers; tests take the fixture `rng`, which is
    the same.

    What several tests share would depend on the test that is the first: see `shared_generator`.
    """
    assert _generator is not None, "no test is running"
    return _generator


def numbered(*numbers: int) -> np.random.Generator:
    """
    Returns the generator with these numbers of the running test: whoever asks for the same numbers
    during a test draws the same values.
    """
    assert _seed is not None, "no test is running"
    return np.random.default_rng([_seed, *numbers])


def shared_generator(name: str) -> np.random.Generator:
    """
    Returns a generator for what several tests share, such as a fixture of a module; name it by
    both.
    """
    assert _run is not None
    return np.random.default_rng(seed_of(_run, name))
