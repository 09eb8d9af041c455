"""
Imports that serve several sizes of symbols: their graphs are those of an import for each size, or
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import glow
import numpy as np
import onnx
import pytest
from glow.frontend.onnx import load_onnx
from glow.graph_with_symbols import GraphWithSymbols, SharedImports
from glow.loading import load_model
from glow.tests.support.graph_text import without_numbers as text
from onnx import TensorProto

from .models import model, node, value

I64 = TensorProto.INT64
LIMIT = 2**31


def computed_shape(rng: np.random.Generator) -> onnx.ModelProto:
    """Reshapes to sizes that nodes compute, as PyTorch exports `x.view(n * 2, -1, m)`."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Gather", ["s", "one"], ["m"]),
        node("Mul", ["n", "two"], ["n2"]),
        *(node("Unsqueeze", [v, "axis"], [f"{v}_1"]) for v in ("n2", "m")),
        node("Concat", ["n2_1", "rest", "m_1"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["y"]),
    ]
    weights = {
        **{"zero": np.array(0), "one": np.array(1), "two": np.array(2)},
        **{"axis": np.array([0]), "rest": np.array([-1])},
    }
    return model(nodes, [value("x", ["n", "m", 4])], ["y"], weights)


def positions(rng: np.random.Generator) -> onnx.ModelProto:
    """Adds rows of a table of 16 positions, and masks what is behind each one."""
    nodes = [
        node("Shape", ["ids"], ["length"], start=1, end=2),
        node("Squeeze", ["length"], ["count"]),
        node("Range", ["zero", "count", "one"], ["places"]),
        node("Gather", ["table", "places"], ["rows"]),
        node("Gather", ["words", "ids"], ["h"]),
        node("Add", ["h", "rows"], ["a"]),
        node("Transpose", ["a"], ["b"], perm=[0, 2, 1]),
        node("MatMul", ["a", "b"], ["scores"]),
        node("Unsqueeze", ["places", "axis"], ["column"]),
        node("LessOrEqual", ["places", "column"], ["seen"]),
        node("Where", ["seen", "scores", "little"], ["masked"]),
        node("Softmax", ["masked"], ["y"], axis=-1),
    ]
    weights = {
        **{"zero": np.array(0), "one": np.array(1), "axis": np.array([1])},
        "table": rng.standard_normal((16, 3)).astype(np.float32),
        "words": rng.standard_normal((9, 3)).astype(np.float32),
        "little": np.float32(-1e9),
    }
    return model(nodes, [value("ids", ["batch", "n"], I64)], ["y"], weights)


def branches_of_sizes(rng: np.random.Generator) -> onnx.ModelProto:
    """Takes every second row but the first and the last, pads them, and repeats all."""
    nodes = [
        node("Slice", ["x", "from", "to", "axis", "step"], ["part"]),
        node("Pad", ["part", "pads"], ["padded"], mode="constant"),
        node("Shape", ["padded"], ["s"]),
        node("Gather", ["s", "axis"], ["rows"]),
        node("Max", ["rows", "axis"], ["most"]),
        node("Concat", ["most", "three"], ["whole"], axis=0),
        node("ConstantOfShape", ["whole"], ["zeros"]),
        node("Add", ["padded", "zeros"], ["sum"]),
        node("Tile", ["sum", "times"], ["y"]),
    ]
    weights = {
        **{"from": np.array([1]), "to": np.array([-1]), "axis": np.array([0])},
        **{"step": np.array([2]), "pads": np.array([1, 0, 0, 0])},
        **{"three": np.array([3]), "times": np.array([2, 1])},
    }
    return model(nodes, [value("x", ["n", 3])], ["y"], weights)


def chosen_rows(rng: np.random.Generator) -> onnx.ModelProto:
    """Picks elements by indices that are an input, whose range depends on symbols."""
    nodes = [node("GatherND", ["x", "i"], ["y"]), node("Gather", ["x", "i"], ["z"], axis=1)]
    return model(nodes, [value("x", ["n", "m"]), value("i", ["k", 2], I64)], ["y", "z"])


MODELS = [computed_shape, positions, branches_of_sizes, chosen_rows]
SIZES: Mapping[str, Sequence[int]] = {
    **{"n": (5, 6, 9, 13, 11), "m": (8, 6, 12, 4, 10)},
    **{"batch": (2, 3, 7, 4, 2), "k": (3, 4, 2, 5, 7)},
}


@pytest.mark.parametrize("make", MODELS)
def test_bound_graphs_are_those_of_imports(make, rng):
    loaded = load_onnx(make(rng))
    symbols = {d.dim_param for i in loaded.proto.graph.input for d in i.type.tensor_type.shape.dim}
    every = [{s: SIZES[s][i] for s in symbols if s} for i in range(5)]
    graph = GraphWithSymbols(loaded, every[0], LIMIT)
    for sizes in every:
        found = graph.at(sizes)
        assert found is not None, [str(c) for c in graph.conditions if not c.holds(sizes)]
        found.verify()
        assert text(found) == text(load_model(loaded, sizes))


def test_other_graphs_are_not_taken(rng):
    """A batch of one, where a broadcast disappears, and more positions than the table has."""
    loaded = load_onnx(positions(rng))
    graph = GraphWithSymbols(loaded, {"batch": 2, "n": 5}, LIMIT)
    assert graph.at({"batch": 3, "n": 16}) is not None
    assert graph.at({"batch": 3, "n": 17}) is None
    taken = graph.at({"batch": 1, "n": 5})
    assert taken is None or text(taken) == text(load_model(loaded, {"batch": 1, "n": 5}))
    pair = load_onnx(
        model([node("Add", ["x", "z"], ["y"])], [value("x", ["n"]), value("z", ["m"])], ["y"])
    )
    graph = GraphWithSymbols(pair, {"n": 4, "m": 4}, LIMIT)
    assert graph.at({"n": 7, "m": 7}) is not None
    assert graph.at({"n": 7, "m": 1}) is None
    assert graph.at({"n": 7, "m": 6}) is None


def test_graphs_of_several_sizes_come_from_one_import(rng):
    """The table has 16 positions."""
    loaded = load_onnx(positions(rng))
    shared = SharedImports(loaded, LIMIT)
    several = [{"batch": 2, "n": n} for n in (5, 16)]
    found = shared.at(several)
    assert found is not None
    for graph, sizes in zip(found[0], several, strict=True):
        assert text(graph) == text(load_model(loaded, sizes))
    assert shared.at([several[0], {"batch": 2, "n": 17}]) is None


def test_calls_of_many_sizes_share_imports(rng: np.random.Generator, monkeypatch):
    """Sizes that do not fit are errors of their calls, and the model stays usable."""
    network = positions(rng)
    own = {n: rng.integers(0, 9, (2, n)) for n in (3, 4, 7, 16, 5)}
    want = {
        n: glow.compile(network, "interpreter", symbols={"batch": 2, "n": n})(i)
        for n, i in own.items()
    }
    imports: list[Mapping[str, int]] = []

    def counted(model, sizes, *args, **options):
        imports.append(sizes)
        return load_model(model, sizes, *args, **options)

    monkeypatch.setattr("glow.cold_compilation.load_model", counted)
    compiled = glow.compile(network, "interpreter")
    for n, ids in own.items():
        np.testing.assert_array_equal(compiled(ids)[0], want[n][0])
    before = len(imports)
    assert before <= 1
    with pytest.raises(glow.ModelError, match="expected indices in -16 to 15"):
        compiled(rng.integers(0, 9, (2, 17)))
    assert len(imports) == before + 1
    np.testing.assert_array_equal(compiled(own[7])[0], want[7][0])


def test_graphs_for_one_size_are_not_made_for_ever(monkeypatch):
    """A loop over rows that import unrolls has another graph for each number of rows."""
    made: list[Mapping[str, int]] = []
    init = GraphWithSymbols.__init__

    def counted(self, model, sizes, limit):
        made.append(sizes)
        init(self, model, sizes, limit)

    monkeypatch.setattr(GraphWithSymbols, "__init__", counted)
    nodes = [node("EyeLike", ["x"], ["e"]), node("Add", ["x", "e"], ["y"])]
    shared = SharedImports(load_onnx(model(nodes, [value("x", ["n", "n"])], ["y"])), LIMIT)
    assert [shared.at([{"n": n}]) is None for n in (2, 3, 4, 5, 6, 3)] == [
        True,
        False,
        False,
        True,
        True,
        False,
    ]
    assert made == [{"n": 3}, {"n": 4}]
