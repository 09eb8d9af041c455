"""Loop nests mean what instructions do, and their text says all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from glow.errors import CompileError
from glow.runtime.interpreter import interpret
from glow.tests.support.native import apply, parse
from glow.tests.support.random_graphs import BOTH, random_graph, random_inputs
from glow.tests.support.rounding import rounding_slack
from glow.tests.support.seeds import fresh_seed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects import vector
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.utils.exceptions import ParseError, VerifyException

PREPARE = "glow-irgen,glow-eliminate-copies,glow-stack-ops,glow-allocate"
NESTS = "glow-build-nests"
SCHEDULED = "glow-split-reductions,glow-schedule-nests"
DIVIDED = f"{SCHEDULED},glow-divide-nests{{threads=3}}"


def again(module: ModuleOp) -> ModuleOp:
    """Returns the module as its text says it."""
    text = str(module)
    parsed = parse(text)
    parsed.verify()
    assert str(parsed) == text
    return parsed


def check(graph: ModuleOp, arrays: list[np.ndarray], slack: Sequence[float] = ()) -> None:
    """Checks that the interpreter computes the same from nests as from their instructions."""
    program = apply(graph, PREPARE)
    wanted = interpret(program, arrays)
    for passes in (NESTS, f"{NESTS},{SCHEDULED}", f"{NESTS}{{threads=3}},{DIVIDED}"):
        nests = again(apply(program.clone(), passes))
        found = interpret(nests, arrays)
        for i, (name, array) in enumerate(wanted.items()):
            assert found[name].dtype == array.dtype
            exact = array.astype(np.float64)
            scale = float(np.abs(np.where(np.isfinite(exact), exact, 0)).max(initial=0)) or 1.0
            atol = 1e-5 * scale + (slack[i] if slack else 0.0)
            np.testing.assert_allclose(found[name].astype(np.float64), exact, rtol=1e-5, atol=atol)


CASES = {
    "product": (
        "%x: tensor<7x33xf32>, %w: tensor<33x13xf32>",
        "%y = glow.matmul %x, %w : (tensor<7x33xf32>, tensor<33x13xf32>) -> tensor<7x13xf32>",
        "tensor<7x13xf32>",
    ),
    "softmax": (
        "%x: tensor<3x5x7xf32>",
        "%y = glow.softmax %x {axis = 2 : i64} : (tensor<3x5x7xf32>) -> tensor<3x5x7xf32>",
        "tensor<3x5x7xf32>",
    ),
    "transpose": (
        "%x: tensor<3x17x9xi8>",
        "%y = glow.transpose %x {permutation = array<i64: 2, 0, 1>} "
        ": (tensor<3x17x9xi8>) -> tensor<9x3x17xi8>",
        "tensor<9x3x17xi8>",
    ),
    "gather": (
        "%x: tensor<6x5xf16>, %i: tensor<4xi32>",
        "%y = glow.gather %x, %i {axis = 0 : i64} "
        ": (tensor<6x5xf16>, tensor<4xi32>) -> tensor<4x5xf16>",
        "tensor<4x5xf16>",
    ),
    "long sum": (
        "%x: tensor<1x20011xf32>, %w: tensor<20011x3xf32>",
        "%y = glow.matmul %x, %w : (tensor<1x20011xf32>, tensor<20011x3xf32>) -> tensor<1x3xf32>",
        "tensor<1x3xf32>",
    ),
    "mean": (
        "%x: tensor<4x9x5xf32>",
        "%y = glow.reduce_mean %x {axes = array<i64: 1>} : (tensor<4x9x5xf32>) -> tensor<4x5xf32>",
        "tensor<4x5xf32>",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str):
    arguments, node, result = CASES[name]
    graph = parse(
        f"func.func @main({arguments}) -> {result} {{ {node} func.return %y : {result} }}"
    )
    check(graph, list(random_inputs(graph, fresh_seed()).values()))


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32), st.integers(1, 12), st.booleans())
def test_random_networks(seed: int, steps: int, single: bool):
    graph = random_graph(seed, steps, (f32,) if single else BOTH)
    inputs = list(random_inputs(graph, seed).values())
    slack = rounding_slack(graph, inputs)
    check(apply(graph, "glow-lower-nodes{backend=cpu}"), inputs, slack)


def scheduled_product() -> str:
    arguments, node, result = CASES["product"]
    graph = parse(
        f"func.func @main({arguments}) -> {result} {{ {node} func.return %y : {result} }}"
    )
    return str(apply(graph, f"{PREPARE},{NESTS},{SCHEDULED}"))


def test_an_edited_register_tile_is_in_the_loops():
    text = scheduled_product()
    (tile,) = re.findall(r"tile = \{[^}]*\}", text)
    found = {}
    for points in (1, 2, 3):
        edited = text.replace(tile, f"tile = {{i: {points}}}")
        kernels = apply(parse(edited), "glow-generate-loops")
        steps = [op for op in kernels.walk() if isinstance(op, vector.FMAOp)]
        found[points] = len(steps)
    assert found == {1: 1, 2: 2, 3: 3}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r"tile = \{[^}]*\}", "tile = {i: 7}", "vector registers"),
        (r"vector = j", "vector = q", "expected a loop of this nest"),
        (r"order = \[i, j\]", "order = [j]", "expected order to have the loops i, j, found j"),
    ],
    ids=["registers", "unknown loop", "order"],
)
def test_schedules_that_do_not_fit_are_errors(old: str, new: str, message: str):
    text, count = re.subn(old, new, scheduled_product())
    assert count == 1
    with pytest.raises((CompileError, ParseError, VerifyException), match=message):
        apply(parse(text), "glow-set-machine{vector-registers=8},glow-generate-loops")


def test_nests_without_a_schedule_are_an_error():
    text = re.sub(r" schedule<[^>]*>", "", scheduled_product())
    with pytest.raises(CompileError, match="run glow-schedule-nests"):
        apply(parse(text), "glow-generate-loops")
