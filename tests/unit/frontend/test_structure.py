"""The structure of models: names, order, inputs, outputs, functions, symbols; and invalid ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from glow.errors import ModelError, UnsupportedError
from glow.frontend.onnx import NEWEST_OPSET, import_onnx
from glow.runtime.interpreter import interpret
from onnx import ModelProto, TensorProto, helper
from xdsl.dialects.func import FuncOp

from .models import model, node, value

X = value("x", [2, 3])


def run(made: ModelProto, *arrays: np.ndarray, **options: object) -> dict[str, np.ndarray]:
    module = import_onnx(made, **options)  # pyright: ignore
    module.verify()
    return interpret(module, list(arrays))


def names(made: ModelProto) -> tuple[list[str], list[str]]:
    (function,) = (op for op in import_onnx(made).walk() if isinstance(op, FuncOp))
    attributes = (function.arg_attrs, function.res_attrs)
    first, second = ([d.data["glow.name"].data for d in a or ()] for a in attributes)  # pyright: ignore
    return first, second


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((2, 3)).astype(np.float32)


# inputs, outputs and names


def test_names_are_kept_exactly() -> None:
    made = model([node("Relu", ["gpu_0/x:0"], ["%ä 1"])], [value("gpu_0/x:0", [2])], ["%ä 1"])
    assert names(made) == (["gpu_0/x:0"], ["%ä 1"])


def test_input_straight_to_output(x: np.ndarray) -> None:
    np.testing.assert_array_equal(run(model([], [X], ["x"]), x)["x"], x)


def test_identity_of_an_input(x: np.ndarray) -> None:
    made = model([node("Identity", ["x"], ["y"])], [X], ["y"])
    np.testing.assert_array_equal(run(made, x)["y"], x)


def test_one_value_as_two_outputs(x: np.ndarray) -> None:
    nodes = [node("Relu", ["x"], ["a"]), node("Identity", ["a"], ["b"])]
    found = run(model(nodes, [X], ["a", "b", "x"]), x)
    np.testing.assert_array_equal(found["a"], found["b"])
    np.testing.assert_array_equal(found["x"], x)


def test_constant_as_output(rng: np.random.Generator) -> None:
    w = rng.standard_normal((4, 50)).astype(np.float32)
    np.testing.assert_array_equal(run(model([], [], ["w"], {"w": w}))["w"], w)


def test_initializer_that_is_also_an_input_is_a_constant(x: np.ndarray) -> None:
    w = np.ones((2, 3), np.float32)
    made = model([node("Add", ["x", "w"], ["y"])], [X, value("w", [2, 3])], ["y"], {"w": w})
    assert names(made)[0] == ["x"]
    np.testing.assert_array_equal(run(made, x)["y"], x + 1)


def test_output_with_other_elements_than_declared() -> None:
    made = model([node("Relu", ["x"], ["y"])], [X], [value("y", None, TensorProto.INT32)])
    with pytest.raises(ModelError, match=r"'y' is declared to have elements i32, .*2x3xf32>"):
        import_onnx(made)


@pytest.mark.parametrize(
    ("operator", "code", "message"),
    [
        ("Not", TensorProto.INT32, "Not .*expected conditions in input 0, found tensor<2x3xi32>"),
        ("And", TensorProto.UINT8, "And .*expected conditions in input 0, found tensor<2x3xui8>"),
        ("BitwiseOr", TensorProto.BOOL, "BitwiseOr .*expected integers in input 0"),
    ],
)
def test_logic_of_other_elements(operator: str, code: int, message: str) -> None:
    names = ["x"] if operator == "Not" else ["x", "x"]
    made = model([node(operator, names, ["y"])], [value("x", [2, 3], code)], ["y"], opset=18)
    with pytest.raises(ModelError, match=message):
        import_onnx(made)


def test_unused_input_stays() -> None:
    made = model([node("Relu", ["x"], ["y"])], [X, value("unused", [7])], ["y"])
    assert names(made)[0] == ["x", "unused"]


def test_dead_nodes_vanish() -> None:
    nodes = [node("Relu", ["x"], ["y"]), node("Exp", ["x"], ["dead"])]
    assert "glow.exp" not in str(import_onnx(model(nodes, [X], ["y"])))


def test_nodes_in_any_order(x: np.ndarray) -> None:
    nodes = [node("Neg", ["b"], ["y"]), node("Relu", ["a"], ["b"]), node("Exp", ["x"], ["a"])]
    np.testing.assert_allclose(run(model(nodes, [X], ["y"]), x)["y"], -np.exp(x), rtol=1e-6)


def test_same_input_twice(x: np.ndarray) -> None:
    made = model([node("Add", ["x", "x"], ["y"])], [X], ["y"])
    np.testing.assert_array_equal(run(made, x)["y"], x + x)


# functions


def function(name: str, nodes: list[onnx.NodeProto], **options: object) -> onnx.FunctionProto:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, ["a"], ["b"], nodes, opsets, **options)  # pyright: ignore


LOCAL = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]


def test_local_functions_with_attributes(x: np.ndarray) -> None:
    leaky = node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    functions = [
        function("Leaky", [leaky], attributes=["slope"]),
        function(
            "Twice",
            [
                node("Leaky", ["a"], ["t"], domain="local", slope=0.5),
                node("Leaky", ["t"], ["b"], domain="local", slope=0.25),
            ],
        ),
    ]
    made = model(
        [node("Twice", ["x"], ["t"], domain="local"), node("Neg", ["t"], ["y"])],
        [X],
        ["y"],
        opset_imports=LOCAL,
        functions=functions,
    )
    want = -np.where(x >= 0, x, x * np.float32(0.125))
    np.testing.assert_allclose(run(made, x)["y"], want)


def test_function_that_calls_itself() -> None:
    functions = [
        function("F", [node("G", ["a"], ["b"], domain="local")]),
        function("G", [node("F", ["a"], ["b"], domain="local")]),
    ]
    call = node("F", ["x"], ["y"], domain="local")
    made = model([call], [X], ["y"], opset_imports=LOCAL, functions=functions)
    with pytest.raises(ModelError, match="call themselves: F, G, F"):
        import_onnx(made)


# symbols


def symbolic() -> ModelProto:
    nodes = [node("Add", ["x", "y"], ["z"])]
    return model(nodes, [value("x", ["batch", None, 3]), value("y", ["batch", 1, 3])], ["z"])


def test_symbols(rng: np.random.Generator) -> None:
    x, y = (rng.standard_normal((4, n, 3)).astype(np.float32) for n in (5, 1))
    found = run(symbolic(), x, y, symbols={"batch": 4, "x_dim1": 5})
    np.testing.assert_array_equal(found["z"], x + y)


def test_missing_symbols_are_all_named() -> None:
    with pytest.raises(ModelError) as error:
        import_onnx(symbolic())
    message = str(error.value)
    assert "batch (dimension 0 of input 'x', dimension 0 of input 'y')" in message
    assert "x_dim1 (dimension 1 of input 'x')" in message
    assert "--define-symbol batch=1 --define-symbol x_dim1=1" in message
    assert "symbols={'batch': 1, 'x_dim1': 1}" in message


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ({"batch": 1, "x_dim1": 1, "width": 3}, "no symbol width; its symbols: batch, x_dim1"),
        ({"batch": -1, "x_dim1": 1}, "at least 0 for symbol batch, found -1"),
        ({"batch": 2.5, "x_dim1": 1}, r"at least 0 for symbol batch, found 2\.5"),
        ({"batch": 2**40, "x_dim1": 2**40}, "limit"),
    ],
)
def test_bad_symbols(symbols: dict[str, int], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        import_onnx(symbolic(), symbols=symbols)


# invalid models


def test_limit_of_elements_can_be_raised() -> None:
    made = model([node("Relu", ["x"], ["y"])], [value("x", [1000, 1000])], ["y"])
    with pytest.raises(ModelError, match=r"input 'x'.*limit.*max_elements=1000000"):
        import_onnx(made, max_elements=999_999)
    import_onnx(made, max_elements=1_000_000)


def test_limit_holds_for_results() -> None:
    w = {"s": np.array([2**12, 2**12, 2])}
    made = model([node("Expand", ["x", "s"], ["y"])], [value("x", [1])], ["y"], w)
    with pytest.raises(ModelError, match=r"Expand with output 'y'.*limit"):
        import_onnx(made, max_elements=2**24)


def test_invalid_graphs() -> None:
    relu = node("Relu", ["x"], ["y"], name="r")
    one = np.ones(1, np.float32)
    cases = {
        "r.*input 'nothing' is defined nowhere": model(
            [node("Add", ["x", "nothing"], ["y"], name="r")], [X], ["y"]
        ),
        "output 'z' is defined nowhere": model([relu], [X], ["z"]),
        "has no outputs": model([relu], [X], []),
        "output 'y' is defined twice": model([relu, node("Exp", ["x"], ["y"])], [X], ["y"]),
        "output 'x' is defined twice": model([node("Exp", ["x"], ["x"])], [X], ["x"]),
        "output 'w' is defined twice": model([node("Exp", ["x"], ["w"])], [X], ["w"], {"w": one}),
        "input 'x' is defined twice": model([relu], [X, X], ["y"]),
        "'x': expected dimensions of at least 0": model([relu], [value("x", [-2])], ["y"]),
        "input 'x': has no type": model([relu], [onnx.ValueInfoProto(name="x")], ["y"]),
        "'r': expected 1 inputs, found 2": model(
            [node("Relu", ["x", "x"], ["y"], name="r")], [X], ["y"]
        ),
        "'r': expected no attribute 'slope'": model(
            [node("Relu", ["x"], ["y"], name="r", slope=1)], [X], ["y"]
        ),
        "'r': expected attribute 'axis' of type INT, found FLOAT": model(
            [node("Concat", ["x"], ["y"], name="r", axis=0.5)], [X], ["y"]
        ),
        "'r': expected attribute 'axis', found none": model(
            [node("Concat", ["x"], ["y"], name="r")], [X], ["y"]
        ),
    }
    for message, made in cases.items():
        with pytest.raises(ModelError, match=message):
            import_onnx(made)


def test_duplicate_initializers() -> None:
    w = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    with pytest.raises(ModelError, match="initializer 'w' is defined twice"):
        import_onnx(model([], [], ["w"], [w, w]))


def test_cycle_names_its_nodes() -> None:
    nodes = [
        node("Relu", ["x"], ["a"], name="before"),
        node("Add", ["a", "d"], ["b"], name="one"),
        node("Exp", ["b"], ["c"], name="two"),
        node("Neg", ["c"], ["d"], name="three"),
        node("Relu", ["d"], ["y"], name="after"),
    ]
    with pytest.raises(ModelError, match="cyclic") as error:
        import_onnx(model(nodes, [X], ["y"]))
    message = str(error.value)
    assert all(name in message for name in ("one", "two", "three"))
    assert "before" not in message
    assert "after" not in message


def test_shape_mismatch_names_the_node() -> None:
    w = {"w": np.ones((8, 4, 3, 3), np.float32)}
    made = model(
        [node("Conv", ["x", "w"], ["y"], name="stem")], [value("x", [1, 3, 9, 9])], ["y"], w
    )
    with pytest.raises(ModelError, match=r"Conv 'stem': expected .*1x3x9x9.*8x4x3x3"):
        import_onnx(made)


@pytest.mark.parametrize("opset", [0, NEWEST_OPSET + 1])
def test_opset_out_of_range(opset: int) -> None:
    made = model([node("Relu", ["x"], ["y"])], [X], ["y"], opset=opset)
    with pytest.raises(UnsupportedError, match=f"opset {opset}; opsets 1 to {NEWEST_OPSET}"):
        import_onnx(made)


@pytest.mark.parametrize("opset", [7, NEWEST_OPSET])
def test_oldest_and_newest_opset(opset: int, x: np.ndarray) -> None:
    made = model([node("Relu", ["x"], ["y"])], [X], ["y"], opset=opset)
    np.testing.assert_array_equal(run(made, x)["y"], np.maximum(x, 0))


# invalid files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x00", "not an ONNX model"),
        (b"this is no model", "not an ONNX model"),
        (b"\x08\x08", "no graph"),
        (b"\x08\x08\x3a\x00", "which opset"),
    ],
)
def test_bad_bytes(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    for source in (path, str(path), content):
        with pytest.raises(ModelError, match=message):
            import_onnx(source)
    with pytest.raises(ModelError, match=r"bad\.onnx"):
        import_onnx(path)


def test_every_truncation_is_an_error_or_a_model(rng: np.random.Generator) -> None:
    w = {"w": rng.standard_normal((4, 3)).astype(np.float32)}
    data = model([node("Gemm", ["x", "w"], ["y"], transB=1)], [X], ["y"], w).SerializeToString()
    for size in range(len(data)):
        with pytest.raises((ModelError, UnsupportedError)):
            import_onnx(data[:size])


def test_random_changes_of_bytes_never_crash(rng: np.random.Generator) -> None:
    w = {"w": rng.standard_normal((4, 3)).astype(np.float32), "s": np.array([1, -1])}
    nodes = [node("Gemm", ["x", "w"], ["t"], transB=1), node("Reshape", ["t", "s"], ["y"])]
    data = model(nodes, [X], ["y"], w).SerializeToString()
    for _ in range(300):
        changed = bytearray(data)
        for place in rng.integers(0, len(data), 3):
            changed[place] = rng.integers(256)
        try:
            import_onnx(bytes(changed))
        except (ModelError, UnsupportedError):
            continue


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.onnx.*No such file"):
        import_onnx(tmp_path / "absent.onnx")
    with pytest.raises(ModelError, match="is a directory"):
        import_onnx(tmp_path)


def test_wrong_type_of_model() -> None:
    with pytest.raises(ModelError, match="found int"):
        import_onnx(3)  # pyright: ignore
