"""Tuning of mixed precision: within the loss, no dearer than float, resumable, bounded by time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from glow.errors import QuantizationError
from glow.quantization import Profile, Quantization, optimized_graph, profile, quantize
from glow.quantization.metrics import METRICS
from glow.quantization.tuning import Goal, Tuner
from glow.quantization.tuning_state import Trial, TuningState
from glow.tests.support.seeds import shared_generator
from glow.tests.unit.quantization.image_networks import images, network

Feeds = list[Mapping[str, np.ndarray]]


@cache
def given() -> tuple[Profile, Feeds]:
    rng = shared_generator(f"{__name__}.given")
    feeds: Feeds = [{"x": images(rng)} for _ in range(3)]
    return profile(network(), feeds), feeds


def tuner(goal: Goal, **options: object) -> Tuner:
    made, feeds = given()
    return Tuner(network(), made, feeds, goal, **options)  # pyright: ignore


def test_within_the_loss_and_no_dearer_than_float(tmp_path: Path):
    state = tmp_path / "state.json"
    costs: list[float] = []
    for max_loss in (0.0, 1e-5, 1.0):
        found = tuner(Goal(max_loss), state=state, resume=bool(costs)).tune()
        assert found.finished
        assert found.best.loss <= max_loss
        assert found.best.cost <= found.exact.cost
        assert [row.name for row in found.products if row.alone is None] == []
        losses = [row.alone.loss for row in found.products if row.alone is not None]
        assert losses == sorted(losses, reverse=True)
        assert {row.name for row in found.products} == {"c1", "c2", "y"}
        # the choices do what the trial did
        report = quantize(network(), given()[0], found.choices)
        floats = {row.name for row in found.products if row.choice == "float"}
        assert set(report.quantized) == {"c1", "c2", "y"} - floats
        costs.append(found.best.cost)
    assert costs == sorted(costs, reverse=True)
    # with any loss, the choice is the cheapest of all that were tried; with none, it is float
    tried = [Trial(**row) for row in json.loads(state.read_text())["trials"]]
    assert {} in [trial.choices for trial in tried]
    assert found.best.cost == min(trial.cost for trial in tried)
    again = tuner(Goal(0.0), state=state, resume=True).tune()
    assert again.best.choices == {"c1": "float", "c2": "float", "y": "float"}


def test_products_in_between():
    alone = tuner(Goal(1.0)).tune().products
    losses = [row.alone.loss for row in alone if row.alone is not None]
    # room for the least of them, but not for the worst
    limit = math.sqrt(losses[-1] * losses[0])
    found = tuner(Goal(limit)).tune()
    assert found.best.loss <= limit
    assert 0 < len(found.best.choices) or found.best.loss < losses[0]


def test_trials_are_kept_and_resumed(tmp_path: Path):
    path = tmp_path / "state.json"
    first: list[Trial] = []
    whole = tuner(Goal(1e-5), state=path, on_trial=first.append).tune()
    assert len(json.loads(path.read_text())["trials"]) == len(first) == whole.trials
    # as if it had been stopped half way
    document = json.loads(path.read_text())
    document["trials"] = document["trials"][: len(first) // 2]
    path.write_text(json.dumps(document))
    second: list[Trial] = []
    again = tuner(Goal(1e-5), state=path, resume=True, on_trial=second.append).tune()
    assert len(second) == len(first) - len(first) // 2
    assert again.best.choices == whole.best.choices
    assert len(json.loads(path.read_text())["trials"]) == len(first)
    # another limit asks for other trials of the same kind
    tuner(Goal(1e-4), state=path, resume=True)


def test_time_is_over():
    found = tuner(Goal(1.0, seconds=1e-9)).tune()
    assert not found.finished
    assert found.best == found.exact
    assert all(row.alone is None and row.choice == "float" for row in found.products)


@pytest.mark.parametrize("measured", [False, True])
def test_cost(measured: bool):
    found = tuner(Goal(1.0, measured=measured)).tune()
    assert 0 < found.best.cost < 1
    assert found.exact.cost > 0


def test_states_of_something_else(tmp_path: Path):
    path = tmp_path / "state.json"
    tuner(Goal(1.0), state=path)
    for different, options in (
        ("options", {"options": Quantization(schema="symmetric")}),
        ("metric", {}),
    ):
        goal = Goal(1.0, metric="top1") if different == "metric" else Goal(1.0)
        with pytest.raises(QuantizationError, match=f"another tuning: different {different};"):
            tuner(goal, state=path, resume=True, **options)
    for text in ("{", "[]", '{"format": "glow-tuning", "version": 1}', '{"format": "x"}'):
        path.write_text(text)
        with pytest.raises(QuantizationError, match="is no state of tuning"):
            TuningState({}, path).load()
    with pytest.raises(QuantizationError, match="cannot be read: No such file"):
        TuningState({}, tmp_path / "none").load()


def test_wrong_goals():
    for options, message in (
        ({"max_loss": -1.0}, "a loss of at least 0, found -1"),
        ({"max_loss": float("nan")}, "a loss of at least 0, found nan"),
        ({"max_loss": 1.0, "metric": "mood"}, "a metric of error, top1, labels, found 'mood'"),
        ({"max_loss": 1.0, "seconds": 0.0}, "more than 0 seconds"),
    ):
        with pytest.raises(QuantizationError, match=message):
            Goal(**options)  # pyright: ignore
    with pytest.raises(QuantizationError, match="there are no data"):
        Tuner(network(), given()[0], [], Goal(1.0))
    kept = Quantization(keep_float=("convolution", "fully_connected"))
    with pytest.raises(QuantizationError, match="nothing to tune: c1: its operator"):
        tuner(Goal(1.0), options=kept)
    with pytest.raises(QuantizationError, match="needs the class of each sample"):
        tuner(Goal(1.0, metric="labels"))


def test_metrics(rng: np.random.Generator):
    a = [[rng.standard_normal((2, 5, 1, 1)).astype(np.float32)] for _ in range(4)]
    b = [[batch[0].copy()] for batch in a]
    assert [METRICS[name](a, b, np.zeros(8)) for name in ("error", "top1", "labels")] == [0, 0, 0]
    worst = int(a[1][0][1].argmin())
    b[1][0][1, worst] = 100
    assert METRICS["top1"](a, b, None) == 1 / 8
    signal = sum(float((x[0].astype(np.float64) ** 2).sum()) for x in a)
    noise = (100 - float(a[1][0][1, worst, 0, 0])) ** 2
    assert METRICS["error"](a, b, None) == pytest.approx(noise / signal, rel=1e-5)
    labels = np.concatenate([x[0].reshape(2, 5).argmax(axis=1) for x in a])
    assert METRICS["labels"](a, b, labels) == 1 / 8
    assert METRICS["labels"](b, a, labels) == 0
    with pytest.raises(QuantizationError, match="expected a label for each of 8 samples, found 3"):
        METRICS["labels"](a, b, labels[:3])
    with pytest.raises(QuantizationError, match="no scores of several classes"):
        METRICS["top1"]([[np.ones((4, 1))]], [[np.ones((4, 1))]], None)
    b[0][0][:] = np.nan
    assert METRICS["error"](a, b, None) == math.inf


def test_metrics_where_data_decide_the_size(rng: np.random.Generator):
    """A row that only one run has is an error of its own size."""
    long = rng.standard_normal((5, 3)).astype(np.float32)
    two = np.array(2.0, np.float32)
    exact, found = [[two, long]], [[two, long[:3]]]
    squares = np.square(long.astype(np.float64))
    want = squares[3:].sum()
    assert METRICS["error"](exact, found, None) == pytest.approx(want / squares.sum())
    assert METRICS["error"](found, exact, None) == pytest.approx(want / squares[:3].sum())
    for name in ("top1", "labels"):
        with pytest.raises(QuantizationError, match="5 rows in float and 3 in integers"):
            METRICS[name]([[long]], [[long[:3]]], np.zeros(5))


def test_optimized_graphs_stay_as_they_are():
    graph = network()
    before = str(graph)
    made, feeds = given()
    Tuner(graph, made, feeds, Goal(1e-5)).tune()
    assert str(graph) == before
    assert str(optimized_graph(graph)) == before
