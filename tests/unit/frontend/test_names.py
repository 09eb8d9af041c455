"""Names of ONNX values, which may be any text: kept for the user, made legal in the IR's text."""

from __future__ import annotations

import itertools
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.context import make_context
from glow.frontend.onnx import import_onnx
from glow.tests.support.seeds import generator
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto
from xdsl.parser import Parser

from .models import model, node, value

NAMES = [
    *("/1", "%1", ":0", "_1", "\u00e91", "1", "a/b", "a_b", "a.b", "x", "x_1", "x_1_2", "x_2_1"),
    *(
        " ",
        "\n",
        "\0",
        '"',
        "\\",
        "#",
        "-",
        "$",
        "_",
        "__1_2",
        "_1_2_3",
        "\u65e5\u672c",
        "a" * 5000,
    ),
]


def chain(names: list[str]) -> ModelProto:
    """Returns a chain of negations."""
    nodes = [node("Neg", [a], [b]) for a, b in itertools.pairwise(names)]
    return model(nodes, [value(names[0], [2])], names[1:])


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_names_are_kept(backend: str, tmp_path: Path) -> None:
    compiled = glow.compile(chain(NAMES), backend)
    assert [i.name for i in compiled.get_inputs()] == NAMES[:1]
    assert [o.name for o in compiled.get_outputs()] == NAMES[1:]
    x = np.array([1, -2], np.float32)
    for i, name in enumerate(NAMES[1:]):
        (found,) = compiled.run([name], {NAMES[0]: x})
        np.testing.assert_array_equal(found, x if i % 2 else -x)
    with pytest.raises(glow.InputError, match="missing input '/1'"):
        compiled()
    for text in (str(module) for module in compiled.stages.values()):
        assert str(Parser(make_context(), text).parse_module()) == text
    path = tmp_path / "chain.mlir"
    path.write_text(str(compiled.stages["imported"]), encoding="utf-8")
    again = glow.compile(path, "interpreter")
    assert [o.name for o in again.get_outputs()] == NAMES[1:]
    np.testing.assert_array_equal(again(x)[0], -x)


@settings(max_examples=30)
@given(
    st.lists(st.text("ab_1/%\u00e9.", min_size=1, max_size=6), min_size=2, max_size=8, unique=True)
)
def test_any_names_are_told_apart(names: list[str]) -> None:
    text = str(import_onnx(chain(names)))
    assert str(Parser(make_context(), text).parse_module()) == text
    (x,) = generator().standard_normal((1, 2)).astype(np.float32)
    outputs = glow.compile(chain(names), "interpreter").run(names[1:], {names[0]: x})
    for i, found in enumerate(outputs):
        np.testing.assert_array_equal(found, x if i % 2 else -x)


def test_names_that_python_has_for_arguments() -> None:
    names = ["self", "args", "input_feed"]
    made = model([node("Sum", names, ["y"])], [value(n, [2]) for n in names], ["y"])
    feed = {name: np.full(2, i, np.float32) for i, name in enumerate(names)}
    np.testing.assert_array_equal(glow.compile(made, "interpreter")(**feed)[0], [3, 3])
