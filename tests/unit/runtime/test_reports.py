"""Programs that say when each of their outputs is complete."""

from __future__ import annotations

from collections.abc import Sequence

import glow
import numpy as np
import pytest
from glow.errors import InputError
from glow.tests.support.small_models import graph

ROWS, WIDTH = 61, 130
TEXT = f"""
func.func @main(%x: tensor<{ROWS}x{WIDTH}xf32> {{glow.name = "x"}},
                %w: tensor<{WIDTH}x{WIDTH}xf32> {{glow.name = "w"}})
    -> (tensor<{ROWS}x{WIDTH}xf32> {{glow.name = "last"}}, tensor<{ROWS}x{WIDTH}xf32> {{glow.name = "middle"}},
        tensor<{ROWS}xf32> {{glow.name = "first"}}, tensor<{ROWS}x{WIDTH}xf32> {{glow.name = "same"}}) {{
  %first = glow.reduce_sum %x axes [1] : (tensor<{ROWS}x{WIDTH}xf32>) -> tensor<{ROWS}xf32>
  %middle = glow.matmul %x, %w : (tensor<{ROWS}x{WIDTH}xf32>, tensor<{WIDTH}x{WIDTH}xf32>) -> tensor<{ROWS}x{WIDTH}xf32>
  %tanh = glow.tanh %middle : (tensor<{ROWS}x{WIDTH}xf32>) -> tensor<{ROWS}x{WIDTH}xf32>
  %last = glow.matmul %tanh, %w : (tensor<{ROWS}x{WIDTH}xf32>, tensor<{WIDTH}x{WIDTH}xf32>) -> tensor<{ROWS}x{WIDTH}xf32>
  func.return %last, %middle, %first, %last : tensor<{ROWS}x{WIDTH}xf32>, tensor<{ROWS}x{WIDTH}xf32>, tensor<{ROWS}xf32>, tensor<{ROWS}x{WIDTH}xf32>
}}
"""  # noqa: E501
OUTPUTS: Sequence[str] = ("last", "middle", "first", "same")


def _feed(rng: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {"x": (ROWS, WIDTH), "w": (WIDTH, WIDTH)}
    return {n: rng.standard_normal(s).astype(np.float32) / 10 for n, s in shapes.items()}


def _memory(model: glow.CompiledModel) -> dict[str, np.ndarray]:
    infos = model.get_outputs()
    return {info.name: np.full(info.shape, np.nan, info.dtype) for info in infos}


@pytest.mark.parametrize("threads", [1, 3])
def test_an_output_is_complete_when_it_is_reported(threads: int, rng: np.random.Generator):
    """A reported output changes no more, and may be changed, while others are still missing."""
    model = glow.compile(graph(TEXT), threads=threads, reports=True, cache=False)
    feed = _feed(rng)
    oracle = glow.compile(graph(TEXT), "interpreter")
    wanted = dict(zip(OUTPUTS, oracle.run(None, feed), strict=True))
    for _ in range(20):
        memory, order = _memory(model), list[str]()

        def complete(name: str, memory=memory, order=order) -> None:
            np.testing.assert_allclose(memory[name], wanted[name], rtol=1e-4, atol=1e-5)
            memory[name][...] = 7.0
            order.append(name)
            if len(order) == 1:
                assert np.isnan(memory["last"]).all()
                assert np.isnan(memory["same"]).all()

        model.run_reporting(memory, feed, complete)
        assert sorted(order) == sorted(OUTPUTS)
        assert order[:2] in (["first", "middle"], ["middle", "first"])
        assert all((array == 7.0).all() for array in memory.values())


@pytest.mark.parametrize("options", [{"backend": "interpreter"}, {"cache": False}])
def test_programs_without_reports_report_in_the_end(options: dict, rng: np.random.Generator):
    model, order = glow.compile(graph(TEXT), **options), list[str]()
    memory = _memory(model)

    def complete(name: str) -> None:
        assert not any(np.isnan(array).any() for array in memory.values())
        order.append(name)

    model.run_reporting(memory, _feed(rng), complete)
    assert order == list(OUTPUTS)


def test_an_error_is_raised_when_the_run_has_ended(rng: np.random.Generator):
    model, told = glow.compile(graph(TEXT), reports=True, cache=False), list[str]()
    memory = _memory(model)

    def complete(name: str) -> None:
        told.append(name)
        raise InputError(f"no {name}")

    with pytest.raises(InputError, match="no "):
        model.run_reporting(memory, _feed(rng), complete)
    assert len(told) == 1
    assert not np.isnan(memory["last"]).any()
    model(**_feed(rng))
    assert len(told) == 1


def test_the_cache_keeps_reporting_programs_apart(tmp_path, rng: np.random.Generator):
    for reports in (False, True, False, True):
        model = glow.compile(graph(TEXT), cache=tmp_path, reports=reports)
        memory = _memory(model)
        missing: list[bool] = []

        def complete(_: str, memory=memory, missing=missing) -> None:
            missing.append(bool(np.isnan(memory["last"]).any()))

        model.run_reporting(memory, _feed(rng), complete)
        assert missing[0] == reports
