"""Fixtures that all tests share."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from glow.errors import GlowError
from glow.lowering.target import DEFAULT_CPU, find_target
from hypothesis import HealthCheck, settings

# how fast examples are made and run depends on what else the machine does
settings.register_profile("glow", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("glow")

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"
"""Models and images that are not part of the repository; tests that need them skip without them."""

_cache: str | None = None


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--target-cpu haswell` generates code for that CPU, which this machine must have."""
    parser.addoption("--target-cpu", help="the CPU that code is generated for where no test says")


def pytest_configure(config: pytest.Config) -> None:
    """
    Keep compiled code in a directory of this run, which the worker processes share; set the CPU
    that code is generated for.
    """
    global _cache
    if (cpu := config.getoption("--target-cpu")) is not None:
        # worker processes and the programs that tests start inherit it
        os.environ[DEFAULT_CPU] = cpu
    try:
        find_target().expect_host_runs_it()
    except GlowError as error:
        raise pytest.UsageError(str(error)) from None
    if "GLOW_CACHE_DIR" not in os.environ:
        _cache = os.environ["GLOW_CACHE_DIR"] = tempfile.mkdtemp(prefix="glow-test-cache-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if _cache is not None:
        shutil.rmtree(_cache, ignore_errors=True)


@pytest.fixture
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture
def shared() -> Path:
    """The folder of models and images beside the repository; skips the test if it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder `shared` beside the repository, which is absent")
    return SHARED


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fresh seed, which pytest shows if the test fails."""
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"rng seed: {seed}")
    return np.random.default_rng(seed)
