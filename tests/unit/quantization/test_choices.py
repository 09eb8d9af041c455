"""Choices as a file, storages of single products, and what is told about conversions."""

from __future__ import annotations

import json
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.errors import QuantizationError
from glow.loading import load_model
from glow.quantization import (
    ObservedGraph,
    Profile,
    Quantization,
    compare_graphs,
    compare_observed,
    load_choices,
    name_values,
    optimized_graph,
    profile,
    quantize,
    remaining_conversions,
    save_choices,
)
from glow.quantization.conversions import conversion_lines
from glow.tests.support.graph_text import run
from glow.tests.support.small_models import small_network
from xdsl.dialects.builtin import ModuleOp


def images(rng: np.random.Generator, count: int = 3) -> list[dict[str, np.ndarray]]:
    return [{"image": rng.standard_normal((2, 3, 8, 10)).astype(np.float32)} for _ in range(count)]


def network() -> ModuleOp:
    return optimized_graph(load_model(small_network(7), {"batch": 2}))


@pytest.fixture
def profiled(rng: np.random.Generator) -> Profile:
    return profile(network(), images(rng))


def test_choices_come_back_from_a_file(tmp_path: Path, profiled: Profile):
    folder = tmp_path / "data"
    folder.mkdir()
    profiled.save(folder / "p.json")
    choices = Quantization(
        profile=str(folder / "p.json"),
        calibration="percentile",
        percentile=99.0,
        per_channel=False,
        keep_float=("conv", "softmax"),
        storages=("logits=i16",),
    )
    path = tmp_path / "choices.json"
    save_choices(choices, path, {"losses": [1, 2]})
    assert json.loads(path.read_text())["options"]["profile"] == "data/p.json"
    assert load_choices(path) == choices
    assert load_choices(folder / "p.json") == Quantization(profile=str(folder / "p.json"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected a profile or choices, not JSON"),
        ('{"format": "glow-quantization", "version": 2}', "expected version 1, found 2"),
        ('{"format": "glow-quantization", "version": 1}', "an object of options, found NoneType"),
        ('{"format": "glow-quantization", "version": 1, "options": {"x": 1}}', "unknown option"),
        (
            '{"format": "glow-quantization", "version": 1, "options": {"schema": 1}}',
            "expected schema to be a text, found 1",
        ),
        (
            '{"format": "glow-quantization", "version": 1, "options": {"keep_float": [1]}}',
            "expected keep_float to be a tuple of names",
        ),
        (
            '{"format": "glow-quantization", "version": 1, "options": {"storages": ["i16"]}}',
            "expected name=storage, found 'i16'",
        ),
    ],
)
def test_wrong_files(text: str, message: str, tmp_path: Path):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(QuantizationError, match=message) as error:
        load_choices(path)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there():
    with pytest.raises(QuantizationError, match=r"nowhere\.json: cannot be read"):
        load_choices("nowhere.json")


def test_single_products_have_storages_of_their_own(rng: np.random.Generator):
    feeds = images(rng)
    # within the ranges, so that nothing saturates
    profiled = profile(network(), feeds)
    products = quantize(network(), profiled).quantized
    assert len(products) == 2
    wide = tuple(f"{name}=i16" for name in products)
    loss = []
    for storages in ((), wide[1:], wide):
        exact = network()
        name_values(exact)
        module = exact.clone()
        report = quantize(module, profiled, Quantization(weights="i16", storages=storages))
        assert report.quantized == products
        widths = sorted(t.storage.width.data for t in report.types.values())
        assert widths.count(16) == len(storages)
        loss.append(compare_graphs(exact, module, feeds).values["logits"].snr_db)
    assert loss[0] - 3 < loss[1] < loss[2] - 10


def test_storages_of_unknown_products(profiled: Profile):
    with pytest.raises(QuantizationError, match="no product is called so; there is: conv"):
        quantize(network(), profiled, Quantization(storages=("c9=i16",)))
    with pytest.raises(QuantizationError, match="expected a storage of"):
        Quantization(storages=("c9=i7",))


def test_conversions_that_remain(profiled: Profile):
    module = network()
    assert remaining_conversions(module) == []
    quantize(module, profiled)
    run("glow-legalize-quantized,canonicalize,cse,dce", module)
    lines = conversion_lines(remaining_conversions(module))
    assert "to integers, from the network's inputs: image" in lines[1]
    assert any("from integers" in line for line in lines)


def test_observed_values_are_those_of_the_interpreter(rng: np.random.Generator, profiled: Profile):
    exact = network()
    name_values(exact)
    module = exact.clone()
    quantize(module, profiled)
    feeds = images(rng, 2)
    slow = compare_graphs(exact, module, feeds)
    fast = compare_observed(ObservedGraph(exact), ObservedGraph(module), feeds)
    assert {"image", "conv", "relu", "logits", "probabilities"} <= set(fast.values)
    for name, value in fast.values.items():
        assert value.elements == slow.values[name].elements
        assert value.snr_db == pytest.approx(slow.values[name].snr_db, abs=1.0)
    graph = ObservedGraph(module)
    graph.run(feeds[0])
    found, *_ = glow.compile(module, cache=False)(feeds[0]["image"])
    np.testing.assert_allclose(graph.outputs[0], found, rtol=1e-4, atol=1e-5)
    with pytest.raises(QuantizationError, match="there are no data"):
        compare_observed(graph, graph, [])


def test_names_of_the_report_can_be_kept(profiled: Profile):
    """Also of those values whose names are told apart by numbers only."""
    for name in quantize(network(), profiled).quantized:
        report = quantize(network(), profiled, Quantization(keep_float=(name,)))
        assert report.kept[name].endswith("kept in float")
