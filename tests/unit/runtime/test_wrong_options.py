"""Wrong names, sizes and lists in options about symbols and states, and in calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import glow
import numpy as np
import pytest
from glow.errors import GlowError
from glow.tests.unit.runtime import encoder_of_rows as texts
from onnx import TensorProto, helper


def cell(kind: int = TensorProto.FLOAT) -> bytes:
    """Returns a model that adds `x` to `h`, with the sum as `y` and, in a type, as `hn`."""
    nodes = [
        helper.make_node("Add", ["x", "h"], ["y"]),
        helper.make_node("Cast", ["y"], ["hn"], to=kind),
    ]
    graph = helper.make_graph(
        nodes,
        "cell",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in "xh"],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [3]),
            helper.make_tensor_value_info("hn", kind, [3]),
        ],
    )
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return whole.SerializeToString()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"symbols": "sequence"}, "expected symbols as a mapping"),
        ({"symbols": {3: 4}}, "the name of a symbol as a string, found 3"),
        ({"symbols": {"sequence": -3}}, "at least 1 for symbol sequence, found -3"),
        ({"symbols": {"sequence": [1, 4]}}, r"a tuple of.*\(1, 64\), found \[1, 4\]"),
        ({"symbols": {"sequence": (1, 4, 9)}}, r"the smallest and the largest size.*\(1, 4, 9\)"),
        ({"symbols": {"sequence": (9, 4)}}, "the smallest size 9 is above the largest, 4"),
        ({"symbols": {"sequenc": (1, 4)}}, "did you mean sequence"),
        ({"buckets": 8}, "expected 'pow2' or sizes of at least 1.*found 8"),
        ({"buckets": {"sequence": [4, 0]}}, r"found \[4, 0\]"),
        ({"buckets": {"words": "pow2"}}, "is called 'words'; the symbols are sequence"),
        ({"rows": 3, "symbols": {"sequence": (1, 4)}}, "as a string, found 3"),
        ({"batch_loop": ["sequence"], "symbols": {"sequence": (1, 4)}}, r"found \['sequence'\]"),
        ({"threads": 1.5}, "threads to be an integer of at least 1, found 1.5"),
        ({"max_specializations": 0}, "max_specializations to be an integer of at least 1"),
        ({"states": "ids"}, "states: expected names of inputs with those of outputs.*'ids'"),
        ({"states": {"ids": 3}}, r"states: expected names.*\{'ids': 3\}"),
        ({"states": {"id*": "y"}}, "two names with one `\\*` each"),
        ({"states": {"ids": "y"}}, "'ids' is int64.*'y' is float32"),
    ],
)
def test_wrong_options(rng: np.random.Generator, options: dict[str, Any], message: str):
    with pytest.raises(GlowError, match=message):
        glow.compile(texts.encoder(rng), **options)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda m: m.warm_up(3), r"a list of sizes by symbol.*found 3"),
        (lambda m: m.warm_up({"sequence": 3}), r"a list of sizes by symbol.*'sequence': 3"),
        (lambda m: m.warm_up([{"sequence": 40}]), "'sequence' is 40: expected a size from 2 to 16"),
        (lambda m: m.warm_up([{}]), "there is none for: sequence"),
        (lambda m: m.specialize([3]), r"expected symbols as a mapping.*found \[3\]"),
        (lambda m: m.specialize({"words": 3}), "no symbol is called 'words'"),
        (lambda m: m.session(), "the model has no states"),
    ],
)
def test_a_model_stays_usable(
    rng: np.random.Generator, use: Callable[[glow.CompiledModel], object], message: str
):
    model = glow.compile(texts.encoder(rng), symbols={"sequence": (2, 16)})
    with pytest.raises(GlowError, match=message):
        use(model)
    given = texts.feed(rng, 5, True)
    with pytest.raises(GlowError, match=r"7 in dimension 1 of input 'ids', but 5 in .* 'mask'"):
        model(texts.feed(rng, 7, True)["ids"], given["mask"])
    assert model(**given)[0].shape == (1, 5, texts.WIDTH)


def test_a_warm_up_of_one_program():
    model = glow.compile(cell())
    model.warm_up([{}])
    with pytest.raises(GlowError, match="a list of sizes by symbol"):
        model.warm_up(None)  # pyright: ignore[reportArgumentType]


def test_states_of_another_name():
    model = glow.compile(cell(), states={"h": "hn"})
    with pytest.raises(GlowError, match="no state is called 'q'; the states are 'h'"):
        model.session({"q": np.ones(3, np.float32)})
    for wrong in (np.zeros(3), [np.zeros(3)]):
        with pytest.raises(GlowError, match="expected a dictionary of first values by state, fou"):
            model.session(wrong)  # pyright: ignore[reportArgumentType]


def test_states_of_another_type():
    with pytest.raises(GlowError, match=r"'h' is float32\[3\], and 'hn' is float64\[3\]"):
        glow.compile(cell(TensorProto.DOUBLE), states={"h": "hn"})
