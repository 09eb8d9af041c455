"""Files of profiles, merging, and how a profile finds the values of a graph."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from glow.errors import QuantizationError
from glow.quantization import Histogram, Profile, ValueProfile, optimized_graph, profile
from glow.tests.support.graph_text import parse
from glow.tests.support.seeds import shared_generator
from glow.tests.support.small_models import small_network


def batches(rng: np.random.Generator, count: int, size: int = 1) -> list[dict[str, np.ndarray]]:
    shape = (size, 3, 8, 10)
    return [{"image": rng.standard_normal(shape).astype(np.float32)} for _ in range(count)]


@pytest.fixture(scope="module")
def made() -> Profile:
    rng = shared_generator(f"{__name__}.made")
    return profile(small_network(3), batches(rng, 3), symbols={"batch": 1}, bins=64)


def test_a_file_holds_everything(made: Profile, tmp_path: Path) -> None:
    made.save(tmp_path / "p.json")
    read = Profile.load(tmp_path / "p.json")
    assert (read.samples, read.model) == (made.samples, "small") == (3, "small")
    assert list(read.values) == list(made.values)
    for name, value in made.values.items():
        other = read.values[name]
        assert other.key == value.key
        a, b = value.histogram, other.histogram
        assert (a.counts == b.counts).all()
        assert (a.low, a.high, a.total, a.nans) == (b.low, b.high, b.total, b.nans)


def test_a_value_without_finite_numbers_has_a_file(made: Profile, tmp_path: Path) -> None:
    key = made.values["conv"].key
    h = Histogram.of(np.array([np.nan, -np.inf, np.nan]), 8)
    Profile({"conv": ValueProfile(key, h)}).save(tmp_path / "p.json")
    found = Profile.load(tmp_path / "p.json").values["conv"].histogram
    assert (found.nans, found.infinities, found.count, found.low) == (2, 1, 0, np.inf)


def test_readers_are_tolerant(made: Profile, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    made.save(path)
    document = json.loads(path.read_text())
    document["invented"] = {"later": 1}
    del document["model"], document["samples"]
    for value in document["values"]:
        value["colour"] = "blue"
        for name in ("operator", "sum", "nan", "infinite"):
            del value[name]
    path.write_text(json.dumps(document))
    read = Profile.load(path)
    assert list(read.values) == list(made.values)
    assert read.samples == 0


def change(**fields: object) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["values"][1].update(fields)


def drop(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["values"][1].pop(name)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.update(format="other"), 'expected an object of format "glow-profile"'),
        (lambda d: d.update(version=7), "has version 7, made by a newer compiler; this one"),
        (lambda d: d.pop("version"), "expected a version number, found None"),
        (lambda d: d.update(values={}), "expected a list of values, found dict"),
        (lambda d: d["values"].append(3), "value number 8: "),
        (lambda d: d["values"].append(d["values"][0]), "value 'image' is there twice"),
        (drop("key"), "value 'conv': the field 'key' is missing"),
        (drop("name"), "value number 1: the field 'name' is missing"),
        (change(key=3), "value 'conv': expected name, operator, key and local_key to be strings"),
        (change(counts=[1]), "value 'conv': expected counts of at least 2 bins"),
        (change(counts=[1, -1]), "value 'conv': expected counts of at least 2 bins, whole"),
        (change(counts=[1, 0.5]), "value 'conv': expected counts of at least 2 bins, whole"),
        (change(counts=[[1, 2], [3]]), "value 'conv': "),
        (change(min=2.0, max=1.0), "expected a range of finite numbers, found 2.0 to 1.0"),
        (change(min=None), "value 'conv': expected a range of finite numbers, found None to"),
        (change(max="much"), "value 'conv': could not convert string to float"),
        (change(nan=None), "value 'conv': int"),
    ],
)
def test_damaged_files(
    made: Profile, tmp_path: Path, damage: Callable[[dict[str, Any]], object], message: str
) -> None:
    path = tmp_path / "p.json"
    made.save(path)
    document = json.loads(path.read_text())
    damage(document)
    path.write_text(json.dumps(document))
    with pytest.raises(QuantizationError) as error:
        Profile.load(path)
    assert message in str(error.value)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000, b"3", b"null"])
def test_other_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(QuantizationError, match="is not a profile"):
        Profile.load(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(QuantizationError, match=r"no\.json: cannot be read: No such file"):
        Profile.load(tmp_path / "no.json")


def test_merging_is_as_one_run(rng: np.random.Generator) -> None:
    model, data = small_network(5), batches(rng, 4)
    parts = [profile(model, half, symbols={"batch": 1}, bins=512) for half in (data[:1], data[1:])]
    merged, whole = parts[0].merge(parts[1]), profile(model, data, symbols={"batch": 1}, bins=512)
    assert merged.samples == whole.samples == 4
    for name, value in whole.values.items():
        a, b = merged.values[name].histogram, value.histogram
        assert (a.low, a.high, a.count) == (b.low, b.high, b.count)
        assert a.total == pytest.approx(b.total, abs=1e-6)
        # each of the three growths of the one, and the two and the merging of the other, moves
        # what is in a bin by less than a bin, and rounds counts
        x, y = np.cumsum(a.counts), np.cumsum(b.counts)
        assert (x[:-6] <= y[6:] + 4).all()
        assert (x[6:] >= y[:-6] - 4).all()


def test_merging_keeps_values_that_one_profile_has(made: Profile) -> None:
    names = list(made.values)
    part = Profile({n: made.values[n] for n in names[:-2]}, 3)
    assert list(part.merge(made).values) == names
    assert list(made.merge(part).values) == names


def test_profiles_of_different_networks_do_not_merge(made: Profile) -> None:
    other = Profile({"z": ValueProfile(made.values["conv"].key, Histogram.empty())})
    with pytest.raises(QuantizationError, match="different networks: no value is in both"):
        made.merge(other)
    swapped = Profile({"conv": ValueProfile(made.values["relu"].key, Histogram.empty())})
    with pytest.raises(QuantizationError, match="computed differently: conv"):
        made.merge(swapped)


@pytest.mark.parametrize("size", [1, 5])
def test_other_batch_sizes_and_weights_match(made: Profile, size: int) -> None:
    graph = optimized_graph(small_network(4), {"batch": size})
    found = made.match(graph)
    assert (found.missing, found.unused, found.report()) == ([], [], "")
    assert [found.names[v] for v in found.histograms] == list(made.values)
    for value, histogram in found.histograms.items():
        assert histogram is made.values[found.names[value]].histogram


GRAPH = """
func.func @main(%x: tensor<4xf32> {glow.name = "x"}) -> tensor<4xf32> {
  %a = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = glow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = glow.tanh %b : (tensor<4xf32>) -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def chain() -> Profile:
    x = shared_generator(f"{__name__}.chain").standard_normal(4).astype(np.float32)
    return profile(parse(GRAPH), [{"x": x}], backend="interpreter")


def matched(chain: Profile, text: str) -> dict[str, str]:
    """Returns the name in the profile of each value of a graph."""
    names = {id(v.histogram): n for n, v in chain.values.items()}
    found = chain.match(parse(text))
    return {found.names[v]: names[id(h)] for v, h in found.histograms.items()}


def test_renamed_values_are_found_by_their_keys(chain: Profile) -> None:
    text = GRAPH.replace("%b", "%second").replace("%c", "%third")
    assert matched(chain, text) == {"x": "x", "a": "a", "second": "b", "third": "c"}


def test_swapped_names_do_not_deceive(chain: Profile) -> None:
    text = GRAPH.replace("%b", "%t").replace("%c", "%b").replace("%t", "%c")
    assert matched(chain, text) == {"x": "x", "a": "a", "c": "b", "b": "c"}


def test_values_behind_a_change_are_found_by_name(chain: Profile) -> None:
    text = GRAPH.replace("glow.relu %a", "glow.relu %new").replace(
        "  %b", "  %new = glow.abs %a : (tensor<4xf32>) -> tensor<4xf32>\n  %b"
    )
    found = chain.match(parse(text))
    assert found.missing == ["new"]
    assert found.unused == []
    assert found.report() == "values that the profile does not know: new"
    assert matched(chain, text) == {"x": "x", "a": "a", "b": "b", "c": "c"}


def test_another_operator_of_the_same_name_is_not_found(chain: Profile) -> None:
    found = chain.match(parse(GRAPH.replace("glow.tanh", "glow.sigmoid")))
    assert (found.missing, found.unused) == (["c"], ["c"])
    assert "values that only the profile knows: c" in found.report()


def test_a_profile_of_another_model(made: Profile) -> None:
    with pytest.raises(QuantizationError) as error:
        made.match(parse(GRAPH))
    assert str(error.value) == (
        "the profile of 'small' is of another model: it knows 0 of the 4 values of this one, and "
        "not x, a, b, c; make a profile of this model with glow-profile"
    )


def test_equal_computations_are_paired_in_order() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) {
      %a = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %b = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      func.return
    }"""
    from glow.passes.graph.value_keys import profiled_values
    from glow.runtime.signature import main_function

    known = profiled_values(main_function(parse(text))).values()
    made = Profile({k.name: ValueProfile(k, Histogram.empty()) for k in known})
    renamed = text.replace("%a", "%p").replace("%b", "%q")
    assert matched(made, renamed) == {"x": "x", "p": "a", "q": "b"}
