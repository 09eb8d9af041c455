"""Random numbers of tests come from the seed of the run, or from one that the source names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from glow.tests.support.seeds import generator, numbered, seed_of, shared_generator
from hypothesis import given
from hypothesis import strategies as st

TESTS = Path(__file__).resolve().parents[1]
DRAWS_THE_SEED = TESTS / "support" / "seeds.py"
SEEDED = {"default_rng", "SeedSequence", "PCG64", "Random"}
"""The functions that take a seed, and draw one if they get none."""
OF_NUMPY = {"default_rng", "SeedSequence", "PCG64", "Generator"}
"""The functions of `numpy.random` that tests use; they share a state that no seed of ours sets."""


SUSPECT = re.compile(
    r"\b(default_rng|SeedSequence|PCG64|Random)\(|_(state|seed)(=|\()\d"
    r"|random\.(?!Generator\b)|(import|from) random"
)
"""Texts that only files with errors contain; other files are not parsed."""


def imported(tree: ast.AST) -> dict[str, str]:
    """Returns the dotted names that names of a module stand for."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {a.asname or a.name: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return found


def dotted(node: ast.AST, names: dict[str, str]) -> str:
    """
    Returns the name that an expression reads, such as `numpy.random.rand`; "" for other
    expressions.
    """
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute) and (base := dotted(node.value, names)):
        return f"{base}.{node.attr}"
    return ""


def is_global(name: str) -> bool:
    """Returns whether a name is a function that draws from a state of the whole process."""
    module, _, function = name.rpartition(".")
    allowed = {"random": {"Random"}, "numpy.random": OF_NUMPY}
    return module in allowed and function not in allowed[module]


def scripts(tree: ast.AST) -> Iterator[ast.AST]:
    """Yields a module, and the strings in it that are programs with random numbers."""
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if "random" in node.value and "\n" in node.value:
                try:
                    script = ast.parse(node.value)
                except SyntaxError:
                    continue
                yield ast.increment_lineno(script, node.lineno - 1)


def is_fixed(node: ast.expr) -> bool:
    """Returns whether an expression is a number, or a list of numbers, in the source."""
    if isinstance(node, ast.List | ast.Tuple):
        return all(is_fixed(e) for e in node.elts)
    return isinstance(node, ast.Constant)


def problem_of(node: ast.Call, names: dict[str, str]) -> str:
    """
    Returns what is wrong with the seed that a call gives; "" if nothing is. A fixed seed draws the
    same numbers in all runs.
    """
    name = dotted(node.func, names)
    last = name.split(".")[-1]
    if last in SEEDED and name.startswith(("numpy.", "random.")):
        if not node.args and not node.keywords:
            return f"{name}() has no seed"
        if all(is_fixed(a) for a in (*node.args, *(k.value for k in node.keywords))):
            return f"{name} has a fixed seed"
    if last == "manual_seed" and all(is_fixed(a) for a in node.args):
        return f"{name} has a fixed seed"
    if any(k.arg == "random_state" and is_fixed(k.value) for k in node.keywords):
        return f"{name} has a fixed random_state"
    return ""


def unseeded(source: str) -> list[str]:
    """Returns the places of a module where random numbers come from no seed."""
    found = []
    module = ast.parse(source)
    for tree in scripts(module):
        names = imported(module) | imported(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (problem := problem_of(node, names)):
                found.append(f"{node.lineno}: {problem}")
            if isinstance(node, ast.Name | ast.Attribute) and is_global(dotted(node, names)):
                found.append(f"{node.lineno}: {dotted(node, names)} has no seed of its own")
    return found


def test_sources() -> None:
    files = [f for f in TESTS.rglob("*.py") if f != DRAWS_THE_SEED]
    assert len(files) > 150
    found = []
    for file in files:
        source = file.read_text(encoding="utf-8")
        if SUSPECT.search(source):
            found += [f"{file.relative_to(TESTS.parent)}:{place}" for place in unseeded(source)]
    assert not found, "\n".join([*found, "take the fixture `rng` (see tests/conftest.py)"])


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np; np.random.default_rng()",
        "from numpy.random import default_rng; default_rng()",
        "import numpy as np; np.random.default_rng(np.random.SeedSequence())",
        "import numpy; numpy.random.rand(3)",
        "import numpy as np; np.random.seed(3)",
        "import random; random.randrange(5)",
        "from random import choice; choice([1, 2])",
        "import random; random.Random()",
        "from random import Random; Random()",
        "import random; random.SystemRandom().random()",
        "SCRIPT = '\\nimport numpy as np\\nnp.random.default_rng()\\n'",
        "SCRIPT = '\\nimport numpy as np\\nnp.random.default_rng(5)\\n'",
        "import numpy as np; np.random.default_rng(3)",
        "import numpy as np; np.random.default_rng(seed=[3, 5])",
        "import random; random.Random(3)",
        "import torch; torch.manual_seed(1)",
        "from sklearn.svm import SVC; SVC(random_state=0)",
    ],
)
def test_what_is_found(line: str) -> None:
    assert unseeded(line)
    assert SUSPECT.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np; np.random.default_rng(seed).random()",
        "import numpy as np; np.random.default_rng([run, 3]).random()",
        "import numpy as np; x: np.random.Generator",
        "import random; random.Random(seed).choice([1, 2])",
        "def f(random, rng): random.choice([1]); rng.random()",
    ],
)
def test_what_is_allowed(line: str) -> None:
    assert not unseeded(line)


@pytest.mark.parametrize("case", ["a", "b c"])
def test_the_generator_of_a_test(
    case: str, rng: np.random.Generator, request: pytest.FixtureRequest
) -> None:
    assert generator() is rng
    again = np.random.default_rng(seed_of(request.config.option.seed, request.node.nodeid))
    np.testing.assert_array_equal(rng.integers(2**63, size=4), again.integers(2**63, size=4))


def test_generators_with_numbers(request: pytest.FixtureRequest) -> None:
    first, again, other = (numbered(*n).integers(2**63) for n in ((3, 1), (3, 1), (3, 2)))
    assert first == again != other
    seed = seed_of(request.config.option.seed, request.node.nodeid)
    assert first == np.random.default_rng([seed, 3, 1]).integers(2**63)


def test_the_generator_of_a_module() -> None:
    first, again = (shared_generator("a").integers(2**63) for _ in range(2))
    assert first == again != shared_generator("b").integers(2**63)


def test_the_seed_of_a_test() -> None:
    seeds = {seed_of(run, node) for run in (0, 1, 2**40) for node in ("t::a", "t::b[1]", "t::b[2]")}
    assert len(seeds) == 9
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert seed_of(7, "tests/unit/test_x.py::test_y") == 3539011697


@given(st.integers())
def test_hypothesis_takes_the_seed_of_the_test(pytestconfig: pytest.Config, x: int) -> None:
    test: Any = test_hypothesis_takes_the_seed_of_the_test
    wanted = seed_of(pytestconfig.option.seed, f"tests/unit/test_seeds.py::{test.__name__}")
    # hypothesis.seed keeps the number there, and has no function that reads it
    assert test._hypothesis_internal_use_seed == wanted


def test_worker_processes_have_the_seed_of_the_run(request: pytest.FixtureRequest) -> None:
    given = getattr(request.config, "workerinput", None)
    if given is None:
        pytest.skip("there are no worker processes, as with -n 2")
    assert request.config.option.seed == given["seed"]
