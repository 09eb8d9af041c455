"""Gradients and directional derivatives of branches and loops."""

from __future__ import annotations

import numpy as np
import pytest
from glow.tests.support.derivatives import check_derivatives, differentiated, inputs, run
from glow.tests.support.graph_text import parse
from glow.tests.support.seeds import generator

_BRANCH = """
func.func @main(%c: tensor<i1> {glow.name = "c"}, %x: tensor<3xf64> {glow.name = "x"},
                %w: tensor<3xf64> {glow.name = "w"}) -> (tensor<3xf64> {glow.name = "out"}) {
  %s = glow.sin %x : (tensor<3xf64>) -> tensor<3xf64>
  %r, %n, %p = glow.if %c, %s, %w : (tensor<i1>, tensor<3xf64>, tensor<3xf64>)
      -> (tensor<3xf64>, tensor<i1>, tensor<3xf64>) then {
  ^bb0(%0: tensor<3xf64>, %1: tensor<3xf64>):
    %2 = glow.mul %0, %1 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %3 = glow.splat value true : tensor<i1>
    glow.yield %2, %3, %2 : tensor<3xf64>, tensor<i1>, tensor<3xf64>
  } else {
  ^bb1(%4: tensor<3xf64>, %5: tensor<3xf64>):
    %6 = glow.exp %4 : (tensor<3xf64>) -> tensor<3xf64>
    %7 = glow.splat value false : tensor<i1>
    glow.yield %6, %7, %4 : tensor<3xf64>, tensor<i1>, tensor<3xf64>
  }
  %out = glow.mul %r, %p : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  func.return %out : tensor<3xf64>
}
"""


@pytest.mark.parametrize("taken", [True, False])
def test_branches(taken: bool) -> None:
    module = parse(_BRANCH)
    check_derivatives(module, {**inputs(module), "c": np.array(taken)})


_LOOP = """
func.func @main({inputs} %x: tensor<3xf64> {{glow.name = "x"}},
                %w: tensor<3xf64> {{glow.name = "w"}})
    -> (tensor<{most}x3xf64> {{glow.name = "out"}}) {{
  %k = glow.splat value 1 : tensor<i64>
  %z = glow.splat value 0.5 : tensor<3xf64>
  %last, %n, %sum, %all, %count = glow.loop {groups}carries(%x, %k, %z) reads(%w) steps {most}
      : ({types}tensor<3xf64>, tensor<i64>, tensor<3xf64>, tensor<3xf64>)
      -> (tensor<3xf64>, tensor<i64>, tensor<3xf64>, tensor<{most}x3xf64>, tensor<i32>) {{
  ^bb0(%i: tensor<i64>, %0: tensor<3xf64>, %1: tensor<i64>, %2: tensor<3xf64>, %3: tensor<3xf64>):
    %m = glow.add %1, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %whole = glow.cast %m : (tensor<i64>) -> tensor<f64>
    %tenth = glow.splat value 0.1 : tensor<f64>
    %f = glow.mul %whole, %tenth : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %s = glow.broadcast %f : (tensor<f64>) -> tensor<3xf64>
    %4 = glow.mul %0, %3 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %5 = glow.sin %4 : (tensor<3xf64>) -> tensor<3xf64>
    %6 = glow.mul %5, %s : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %7 = glow.mul %2, %6 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    {condition}
    glow.yield {yields}%6, %m, %7, %4
        : {kinds}tensor<3xf64>, tensor<i64>, tensor<3xf64>, tensor<3xf64>
  }}
  %8 = glow.mul %last, %sum : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %9 = glow.broadcast %8 : (tensor<3xf64>) -> tensor<{most}x3xf64>
  %out = glow.add %all, %9 : (tensor<{most}x3xf64>, tensor<{most}x3xf64>) -> tensor<{most}x3xf64>
  func.return %out : tensor<{most}x3xf64>
}}
"""


def _loop(counted: bool, most: int) -> str:
    """Returns a loop of a known number of steps, or of one that data says."""
    parts = dict.fromkeys(("inputs", "groups", "types", "condition", "yields", "kinds"), "")
    if not counted:
        parts = {
            "inputs": '%t: tensor<i64> {glow.name = "t"}, %g: tensor<i1> {glow.name = "g"},',
            "groups": "trips(%t) while(%g) ",
            "types": "tensor<i64>, tensor<i1>, ",
            "condition": "%d = glow.splat value 9 : tensor<i64>\n"
            "%go = glow.less %m, %d : (tensor<i64>, tensor<i64>) -> tensor<i1>",
            "yields": "%go, ",
            "kinds": "tensor<i1>, ",
        }
    return _LOOP.format(most=most, **parts)


def test_loops_of_a_known_number_of_steps() -> None:
    module = parse(_loop(True, 4))
    check_derivatives(module, inputs(module))


@pytest.mark.parametrize(
    ("trips", "going", "most"),
    [(0, True, 3), (3, False, 3), (2, True, 7), (9, True, 7), (9, True, 3)],
)
def test_loops_whose_number_of_steps_is_data(trips: int, going: bool, most: int) -> None:
    """The loops end before a step, after some, by their condition, and at their limit."""
    module = parse(_loop(False, most))
    check_derivatives(module, {**inputs(module), "t": np.array(trips), "g": np.array(going)})


def test_compiled_gradients_of_a_loop() -> None:
    module = differentiated(parse(_loop(False, 5)), seed=True)
    feeds = {**inputs(parse(_loop(False, 5))), "t": np.array(4), "g": np.array(True)}
    feeds["seed.out"] = generator().uniform(-1, 1, (5, 3))
    expected, found = run(module, feeds), run(module, feeds, backend="cpu")
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9)
