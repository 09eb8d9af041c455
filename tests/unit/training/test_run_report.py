"""The page about a training, its charts, and the gradients and times that it shows."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import glow
import numpy as np
import pytest
from glow import nn
from glow.errors import GlowError
from glow.training import SGD, Batches
from glow.training.charts import Curve, bars, curves, histogram, ticks
from hypothesis import example, given
from hypothesis import strategies as st


def _trainer(backend: str, rng: np.random.Generator) -> tuple[glow.Trainer, Batches]:
    x = rng.standard_normal((10, 3)).astype(np.float32)
    y = (x @ rng.standard_normal((3, 2))).astype(np.float32)
    network = nn.Sequential(nn.Linear(3, 2))
    trainer = glow.Trainer(network, nn.mean_squared_error, SGD(0.05), backend=backend)
    return trainer, Batches(x, y, size=5)


class _Page(HTMLParser):
    """Checks that all elements are closed in order, and counts them."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_of_a_training(rng: np.random.Generator, tmp_path: Path):
    trainer, batches = _trainer("cpu", rng)
    path = tmp_path / "run.html"
    metrics = {"squared < error": nn.mean_squared_error}
    trainer.fit(batches, 3, validation=batches, metrics=metrics, report=path)
    text = path.read_text()
    page = _Page(text)
    # loss, metric and rate; two parameters and their gradients; times
    assert page.count["svg"] == 3 + 4 + 1
    assert page.count["tr"] == 1 + 3
    assert "3 epochs, 6 steps" in text
    assert "squared &lt; error" in text
    assert "Time of a step by operator" in text
    assert not re.search(r"(src|href)=", text), "the page has all that it shows"
    assert list(tmp_path.iterdir()) == [path]


def test_a_page_that_cannot_be_written(rng: np.random.Generator, tmp_path: Path):
    trainer, batches = _trainer("interpreter", rng)
    path = tmp_path / "missing" / "run.html"
    with pytest.raises(GlowError, match=r"cannot write the report .*run\.html: No such file"):
        trainer.fit(batches, 1, report=path)
    assert trainer.step == 0, "the error comes before the training"


def test_gradients_of_a_batch(rng: np.random.Generator):
    trainer, batches = _trainer("interpreter", rng)
    (batch, *_) = list(batches.epoch(0))
    before = trainer.parameters
    found = trainer.gradients(batch)
    trainer.train_step([batch])
    for name, gradient in found.items():
        np.testing.assert_allclose(
            before[name] - trainer.parameters[name], 0.05 * gradient, rtol=1e-4, atol=1e-7
        )


def test_profiles_need_the_backend_cpu(rng: np.random.Generator):
    trainer, batches = _trainer("interpreter", rng)
    with pytest.raises(GlowError):
        trainer.profile(next(iter(batches.epoch(0))))


@given(st.floats(-1e300, 1e300), st.floats(0.0, 1e300), st.integers(2, 8))
@example(5e-324, 0.0, 2)
@example(1.0, 2.3e-16, 5)
def test_ticks_cover_a_range(low: float, width: float, most: int):
    high = low + width
    found = ticks(low, high, most)
    room = 1e-6 * max(abs(low), abs(high), width)
    assert found[0] <= low + room
    assert found[-1] >= high - room
    assert 2 <= len(found) <= most + 3


def test_charts_of_few_and_strange_numbers():
    nan = float("nan")
    drawn = curves("a & b", [Curve("x", [1, 2, 3], [nan, 2.0, 2.0]), Curve("y", [], [])])
    assert "a &amp; b" in drawn
    assert "nan" not in drawn
    assert "no values yet" in curves("none", [Curve("x", [1], [nan])])
    assert "no finite numbers" in histogram("h", np.array([nan, np.inf], np.float32))
    assert histogram("h", np.full(7, 3.0, np.float32)).count("<rect") == 2
    long = curves("long", [Curve("x", range(10_000), np.arange(10_000.0).tolist())])
    assert long.count(" L ") < 500
    assert bars("none", []).endswith("</svg>\n")
    assert bars("b", [("k", 0.0, "0 ms")]).count("<rect") == 2
