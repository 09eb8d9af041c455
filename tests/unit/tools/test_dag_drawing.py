"""Drawings of networks that are split over devices."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import glow
import numpy as np
import pytest
from glow.errors import CompileError
from glow.passes.partition.devices import of_backends, read_configuration
from glow.passes.partition.partition import partition
from glow.passes.partition.partitions import read_partitions
from glow.tests.support.drawn import cut_off
from glow.tests.support.graph_text import parse
from glow.tests.support.partition_graphs import layered_graph, layered_inputs
from glow.tools.dag_drawing import draw_partitions, seconds_text
from glow.tools.glow_opt import main as glow_opt
from glow.tools.layered_layout import GAP, Size, lay_out
from hypothesis import given, settings
from hypothesis import strategies as st

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 25))
def test_boxes_do_not_overlap_and_edges_go_down(seed: int, count: int) -> None:
    rng = random.Random(seed)
    sizes = [Size(rng.uniform(10, 200), rng.uniform(10, 90)) for _ in range(count)]
    pairs = [(a, b) for b in range(count) for a in range(b)]
    edges = sorted(rng.sample(pairs, min(len(pairs), rng.randint(0, 2 * count))))
    layout = lay_out(sizes, edges)
    for a, b in pairs:
        (xa, ya), (xb, yb) = layout.boxes[a], layout.boxes[b]
        beside = xa + sizes[a].width + GAP <= xb + 0.01 or xb + sizes[b].width + GAP <= xa + 0.01
        apart = ya + sizes[a].height <= yb or yb + sizes[b].height <= ya
        assert beside or apart
    for i, size in enumerate(sizes):
        x, y = layout.boxes[i]
        assert -0.01 <= x <= layout.width - size.width + 0.01
        assert 0 <= y <= layout.height - size.height + 0.01
    for (a, b), points in layout.edges.items():
        assert all(upper[1] <= lower[1] for upper, lower in pairwise(points))
        assert points[0][1] == layout.boxes[a][1] + sizes[a].height
        assert points[-1][1] == layout.boxes[b][1]
    assert layout.edges.keys() == set(edges)


def test_straight_chains_are_drawn_straight() -> None:
    layout = lay_out([Size(50, 20), Size(90, 20), Size(30, 20)], [(0, 1), (1, 2)])
    assert len({round(x, 6) for points in layout.edges.values() for x, _ in points}) == 1


def test_every_partition_and_device_is_drawn() -> None:
    module = layered_graph(7, 50)
    partition(module, of_backends(["interpreter"] * 3, [10**5]), "memory")
    found = texts(draw_partitions(module))
    network = read_partitions(module)
    for part in network.partitions:
        assert f"{part.name} on {part.device}" in found
    for i in range(3):
        assert any(t.startswith(f"interpreter{i} (interpreter): ") for t in found)
    assert {"inputs", "outputs"} <= set(found)


BRANCHES = """
    func.func private @one(%x: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>)
        attributes {glow.device = "a<b", glow.backend = "interpreter",
                    glow.weight_bytes = 8 : i64} {
      %left = glow.neg %x : (tensor<5xf32>) -> tensor<5xf32>
      %right = glow.exp %x : (tensor<5xf32>) -> tensor<5xf32>
      func.return %left, %right : tensor<5xf32>, tensor<5xf32>
    }
    func.func private @two(%a: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<5xf32>
        attributes {glow.device = "c", glow.backend = "interpreter", glow.cost = 2.5e-3 : f64} {
      %y = glow.add %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      func.return %y : tensor<5xf32>
    }
    func.func @main(%x: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
      %a, %b = func.call @one(%x) : (tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>)
      %y = func.call @two(%a, %b) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32>
      func.return %y, %x : tensor<5xf32>, tensor<5xf32>
    }"""


def test_what_is_written_in_a_drawing() -> None:
    drawing = draw_partitions(parse(BRANCHES))
    assert not cut_off(drawing)
    found = texts(drawing)
    assert {"one on a<b", "two on c", "neg %left", "exp %right", "add %y"} <= set(found)
    assert "2.5 ms, 0 B + 0 B" in found
    assert found.count("2 tensors, 40 B") == 1
    assert found.count("20 B") == 3
    assert "a<b (interpreter): 8 B" in found


def test_labels_that_are_wider_than_boxes_fit() -> None:
    """Many tensors between two small boxes have a label that stands out on both sides."""
    count = 40
    names = ", ".join(f"%v{i}" for i in range(count))
    types = ", ".join(["tensor<2xf32>"] * count)
    arguments = ", ".join(f"%v{i}: tensor<2xf32>" for i in range(count))
    module = parse(f"""
    func.func private @p({arguments}) -> tensor<2xf32>
        attributes {{glow.device = "a", glow.backend = "interpreter"}} {{
      func.return %v0 : tensor<2xf32>
    }}
    func.func @main({arguments}) -> tensor<2xf32> {{
      %y = func.call @p({names}) : ({types}) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }}""")
    drawing = draw_partitions(module)
    assert f"{count} tensors, 320 B" in texts(drawing)
    assert not cut_off(drawing)


def test_many_nodes_are_counted() -> None:
    lines = "".join(
        f"%v{i + 1} = glow.neg %v{i} : (tensor<2xf32>) -> tensor<2xf32>\n" for i in range(30)
    )
    module = parse(
        f"func.func @main(%v0: tensor<2xf32>) -> tensor<2xf32> {{ {lines}"
        "func.return %v30 : tensor<2xf32> }"
    )
    partition(module, of_backends(["interpreter"]))
    assert "30 x neg" in texts(draw_partitions(module))


def test_drawing_of_the_documentation_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    docs = Path(__file__).resolve().parents[3] / "docs"
    monkeypatch.chdir(docs)
    module = parse((docs / "examples" / "block.mlir").read_text())
    partition(module, read_configuration("examples/devices.toml"))
    assert draw_partitions(module) == (docs / "images" / "partitions.svg").read_text()


def test_times_have_three_digits() -> None:
    found = [seconds_text(s) for s in (2.0, 0.1234, 56.78e-6, 3e-9)]
    assert found == ["2 s", "123 ms", "56.8 µs", "0.003 µs"]


def test_modules_that_are_not_split_cannot_be_drawn() -> None:
    with pytest.raises(CompileError, match="expected @main to consist of calls"):
        draw_partitions(layered_graph(1, 3))


def test_glow_opt_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, drawn = tmp_path / "in.mlir", tmp_path / "out.svg"
    source.write_text(str(layered_graph(2, 10)))
    flags = ["--partition=devices=interpreter,interpreter", f"--dump-dag={drawn}"]
    assert glow_opt([str(source), *flags]) == 0
    assert "partition_0 on interpreter" in drawn.read_text()
    drawn.unlink()
    capsys.readouterr()
    assert glow_opt([str(source), f"--dump-dag={drawn}"]) == 1
    assert re.search(r"--dump-dag: .*expected @main to consist of calls", capsys.readouterr().err)
    assert not drawn.exists()


def test_partitioned_networks_compile_as_a_whole() -> None:
    module, inputs = layered_graph(21, 25), layered_inputs(21)
    expected = glow.compile(module, backend="interpreter").run(None, inputs)
    partition(module, of_backends(["interpreter"] * 2))
    found = glow.compile(module, backend="interpreter").run(None, inputs)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
