"""The examples of operators that are stated as formulas."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.benchmarks import generic
from glow.glow_dialects.operator import with_shape
from glow.semantics import element_type
from numpy.random import Generator

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "generic" / "operators.py"


def loaded():
    spec = importlib.util.spec_from_file_location("generic_operators", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["bag_of_words", "banded_product", "local_attention"])
def test_examples_on_several_threads(name: str, rng: Generator):
    example = loaded()
    operator = getattr(example, name)
    given = example.arguments(operator, rng)
    types = [with_shape(element_type(a.dtype), a.shape) for a in given]
    (found,) = glow.compile(operator.graph(*types), threads=2, cache=False)(*given)
    wanted = example.by_hand(operator, *given)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(operator(*given), wanted, rtol=1e-3, atol=1e-4)


def test_the_example_runs():
    found = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("largest difference") == 3


@pytest.mark.parametrize("pair", generic.PAIRS, ids=lambda p: p.__name__)
def test_formulas_and_operators_that_are_timed_say_the_same(pair):
    small = {
        "banded_product": {"rows": 30, "columns": 9},
        "local_attention": {"length": 40, "width": 8, "radius": 3},
        "matrix_product": {"rows": 5, "inner": 9, "columns": 17},
    }
    *_, apart = generic.measure(pair(**small.get(pair.__name__, {})), 1, 1)
    assert apart < 1e-5
