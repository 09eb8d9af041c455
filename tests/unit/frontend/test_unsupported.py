"""Everything that is unsupported is listed, nothing that merely follows from it is."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from glow.errors import CutNeededError
from glow.frontend.onnx import import_onnx
from glow.tests.unit.frontend.import_problems import problems
from onnx import TensorProto, helper

from .models import model, node, value


def test_all_operators_are_listed() -> None:
    nodes = [
        node("StringNormalizer", ["x"], ["values"], name="top"),
        node("Relu", ["values"], ["r"], name="relu"),
        node("Fancy", ["r"], ["f"], name="first", domain="com.example"),
        node("Conv", ["f", "r"], ["c"], name="conv"),
        node("Fancy", ["c"], ["y"], name="second", domain="com.example"),
        node("StringNormalizer", ["x"], ["z"], name="dead"),
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.example", 1)]
    made = model(
        nodes,
        [value("x", [2, 6])],
        ["y"],
        opset_imports=opsets,
    )
    assert problems(made) == [
        "StringNormalizer 'top': the operator is not supported",
        "com.example.Fancy 'first': the operator is not supported",
        "com.example.Fancy 'second': the operator is not supported",
        "StringNormalizer 'dead': the operator is not supported",
    ]


def test_many_nodes_share_lines_but_all_are_named() -> None:
    nodes = [node("StringNormalizer", ["x"], [f"z{i}"], name=f"n{i}") for i in range(30)]
    nodes += [node("StringNormalizer", ["x"], [f"v{i}"]) for i in range(2)]
    outputs = [*(f"z{i}" for i in range(30)), "v0", "v1"]
    found = problems(model(nodes, [value("x", [2, 6])], outputs))
    names = [f"'n{i}'" for i in range(30)]
    assert found == [
        f"StringNormalizer: the operator is not supported: {', '.join(names)}",
        "StringNormalizer with output: the operator is not supported: 'v0', 'v1'",
    ]


def test_nodes_behind_a_stand_in_are_still_looked_at() -> None:
    nodes = [
        node("StringNormalizer", ["x"], ["values"], name="top"),
        node("Relu", ["values"], ["r"], name="relu"),
        node("LpPool", ["x4"], ["p"], name="pool", kernel_shape=[2, 2], p=0),
        node("StringNormalizer", ["r"], ["y"], name="top2"),
        node("Cast", ["x"], ["s"], name="cast", to=TensorProto.STRING),
    ]
    made = model(nodes, [value("x", [2, 6]), value("x4", [1, 1, 4, 4])], ["y", "p", "s"])
    found = problems(made)
    assert found == [
        "StringNormalizer 'top': the operator is not supported",
        "LpPool 'pool': p=0",
        "StringNormalizer 'top2': the operator is not supported",
        "Cast 'cast': the result has elements of type STRING",
    ]


def test_shapes_that_are_not_constant() -> None:
    nodes = [
        node("Reshape", ["x", "s"], ["a"], name="reshape"),
        node("Expand", ["x", "s"], ["b"], name="expand"),
        node("Relu", ["a"], ["y"], name="follows"),
    ]
    made = model(nodes, [value("x", [2, 6]), value("s", [2], TensorProto.INT64)], ["y", "b"])
    assert problems(made) == [
        "Reshape 'reshape': input 'shape' is not a constant",
        "Expand 'expand': input 'shape' is not a constant",
    ]


def test_inputs_that_are_not_tensors_of_numbers() -> None:
    sequence = onnx.ValueInfoProto(name="q")
    sequence.type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    inputs = [
        value("s", [1], TensorProto.STRING),
        value("c", [1], TensorProto.COMPLEX64),
        sequence,
        value("r", None),
    ]
    nodes = [node("Identity", [i.name], [f"{i.name}_out"]) for i in inputs]
    made = model(nodes, inputs, [f"{i.name}_out" for i in inputs])
    assert problems(made) == [
        "input 's' has elements of type STRING",
        "input 'c' has elements of type COMPLEX64",
        "input 'q' is a sequence, not a tensor",
        "input 'r' has no shape, not even a number of dimensions",
    ]


def test_subgraphs() -> None:
    body = [node("StringNormalizer", ["x"], ["n"], name="inner")]
    bad = helper.make_graph(body, "b", [], [value("n", [2])])
    good = helper.make_graph([node("Neg", ["x"], ["n"])], "g", [], [value("n", [2])])
    nodes = [
        node("If", ["t"], ["y"], name="branch", then_branch=bad, else_branch=good),
        node("If", ["f"], ["z"], name="other", then_branch=bad, else_branch=good),
        node("Relu", ["y"], ["follows"]),
    ]
    conditions = {"t": np.array(True), "f": np.array(False)}
    made = model(nodes, [value("x", [2])], ["follows", "z"], conditions)
    assert problems(made) == [
        "If 'branch' / StringNormalizer 'inner': the operator is not supported"
    ]


def test_branches_of_different_shapes() -> None:
    yes = helper.make_graph([node("Neg", ["x"], ["n"])], "b", [], [value("n", [5000])])
    no = helper.make_graph([node("ReduceSum", ["x"], ["s"])], "b", [], [value("s", [1])])
    nodes = [
        node("ReduceMax", ["x"], ["m"], keepdims=0),
        node("Cast", ["m"], ["c"], to=TensorProto.BOOL),
        node("If", ["c"], ["y"], name="branch", then_branch=yes, else_branch=no),
    ]
    made = model(nodes, [value("x", [5000])], ["y"])
    with pytest.raises(CutNeededError, match="If 'branch': input 'cond' is not a constant"):
        import_onnx(made)


def test_operator_of_another_opset() -> None:
    made = model([node("Gelu", ["x"], ["y"], name="gelu")], [value("x", [2])], ["y"], opset=17)
    assert problems(made) == ["Gelu 'gelu': opset 17 has no such operator"]


def test_operators_inside_functions() -> None:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    body = [node("StringNormalizer", ["a"], ["t"], name="inner"), node("Relu", ["t"], ["b"])]
    made = model(
        [
            node("F", ["x"], ["t"], name="one", domain="local"),
            node("F", ["t"], ["y"], name="two", domain="local"),
        ],
        [value("x", [2])],
        ["y"],
        opset_imports=opsets,
        functions=[helper.make_function("local", "F", ["a"], ["b"], body, opsets[:1])],
    )
    assert problems(made) == [
        "local.F 'one' / StringNormalizer 'inner': the operator is not supported",
        "local.F 'two' / StringNormalizer 'inner': the operator is not supported",
    ]


def test_unsupported_dead_nodes_do_not_matter() -> None:
    nodes = [node("Relu", ["x"], ["y"]), node("StringNormalizer", ["x"], ["dead"])]
    import_onnx(model(nodes, [value("x", [2])], ["y"]))
