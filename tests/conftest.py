"""
Fixtures that all tests share, and the seed of their random numbers.

A run of pytest has one seed. `--seed` gives it (`make test SEED=...`), otherwise it is fresh; the
run prints it. The seed of each test follows from it and from the node id of the test, for the
fixture `rng` and for hypothesis, so a test that fails names the command that repeats it:

    python -m pytest 'tests/unit/test_x.py::test_y[case]' --seed 1234

Tests take random numbers from `rng`, their helpers from `tests.support.seeds.generator()`, from
`numbered` or from a seed that they are given, fixtures of modules from `shared_generator`, and
scripts that run in other processes from a seed among their arguments. `tests/unit/test_seeds.py`
finds other sources, also seeds that are numbers in the source.
"""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import tempfile
from argparse import ArgumentTypeError
from collections.abc import Generator
from pathlib import Path
from types import FunctionType
from typing import Any

import hypothesis
import numpy as np
import pytest
from glow.errors import GlowError
from glow.lowering.target import DEFAULT_CPU, find_target
from glow.tests.support import seeds
from hypothesis import HealthCheck, settings

# How fast examples are made and run depends on what else the machine does. Each run draws other
# examples, so a property needs fewer in one run than hypothesis takes by default.
settings.register_profile(
    "glow",
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("glow")

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"
"""Models and images that are not part of the repository; tests that need them skip without them."""

_cache: str | None = None


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"expected a number of at least 0, found {text!r}")
    return int(text)


def pytest_addoption(parser: pytest.Parser) -> None:
    """
    Adds the option `--target-cpu haswell`, which generates code for that CPU; this machine must
    have it.
    """
    parser.addoption("--target-cpu", help="the CPU that code is generated for where no test says")
    parser.addoption(
        "--seed", type=_seed, help="of the random numbers of all tests; default: another each time"
    )


def pytest_configure(config: pytest.Config) -> None:
    """
    Draws a seed unless one is given; worker processes have that of the first process. Set the CPU
    that code is generated for.

    Keep compiled code in a directory of this run, which the worker processes share.
    """
    global _cache
    if config.option.seed is None:
        given = getattr(config, "workerinput", {})
        config.option.seed = given.get("seed") or seeds.fresh_seed()
    seeds.start_run(config.option.seed)
    if (cpu := config.getoption("--target-cpu")) is not None:
        # worker processes and the programs that tests start inherit it
        os.environ[DEFAULT_CPU] = cpu
    try:
        find_target().expect_host_runs_it()
    except GlowError as error:
        raise pytest.UsageError(str(error)) from None
    if "GLOW_CACHE_DIR" not in os.environ:
        _cache = os.environ["GLOW_CACHE_DIR"] = tempfile.mkdtemp(prefix="glow-test-cache-")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker process of pytest-xdist the seed."""
    node.workerinput["seed"] = node.config.option.seed


def pytest_unconfigure(config: pytest.Config) -> None:
    if _cache is not None:
        shutil.rmtree(_cache, ignore_errors=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Prints the seed, even of a quiet run, which has no header."""
    terminal: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(session.config, "workerinput"):
        terminal.write_line(f"seed of the random numbers: {session.config.option.seed}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sorts slow tests first, so that no process has one left when the others have ended."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """
    Modules and tests live until the end, so the collector of cycles need not look at them.

    Tests make large structures that stay alive for one test, so the collector looks seldom.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Gives the test its generator, and hypothesis the same seed."""
    seeds.start_test(item.nodeid)
    test = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    if isinstance(test, FunctionType) and hypothesis.is_hypothesis_test(test):
        if item.config.getoption("--hypothesis-seed") is None:
            hypothesis.seed(seeds.seed_of(item.config.option.seed, item.nodeid))(test)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    """Shows how to repeat a test that failed."""
    report: Any = yield
    if report.failed:
        options = [f"--seed {item.config.option.seed}"]
        if (cpu := item.config.getoption("--target-cpu")) is not None:
            options.append(f"--target-cpu {cpu}")
        command = f"python -m pytest {shlex.quote(item.nodeid)} {' '.join(options)}"
        report.sections.append(("to repeat with the same random numbers", command))
    return report


@pytest.fixture
def repository() -> Path:
    """Returns the root of the repository."""
    return REPOSITORY


@pytest.fixture
def shared() -> Path:
    """
    Returns the folder of models and images beside the repository; skips the test if it is absent.
    """
    if not SHARED.is_dir():
        pytest.skip("needs the folder `shared` beside the repository, which is absent")
    return SHARED


@pytest.fixture
def rng() -> np.random.Generator:
    """Returns the generator of the test, which the seed of the run repeats."""
    return seeds.generator()
