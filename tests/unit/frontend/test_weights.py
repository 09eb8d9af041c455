"""Constants from initializers: all dtypes, in the file, in memory, and in external files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from glow.errors import ModelError, UnsupportedError
from glow.frontend.onnx import import_onnx
from glow.glow_dialects.blob import BlobAttr
from glow.glow_dialects.glow.constant import ConstantOp
from glow.runtime.interpreter import interpret
from glow.semantics import constant_of
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from .models import model, node, value

DTYPES = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]


def constants(module: ModuleOp) -> list[ConstantOp]:
    return [op for op in module.walk() if isinstance(op, ConstantOp)]


def passed_on(tensor: TensorProto) -> ModelProto:
    """Returns a model whose output is an initializer."""
    return model([], [], ["w"], [tensor])


def only_output(source: object) -> np.ndarray:
    (found,) = interpret(import_onnx(source), {}).values()  # pyright: ignore
    return found


def array_of(dtype: np.dtype, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2 if dtype == np.bool_ else 100, shape).astype(dtype)


@pytest.mark.parametrize("shape", [(), (0,), (5,), (16,), (17,), (3, 1, 40)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_raw_and_typed_data(
    dtype: str, shape: tuple[int, ...], tmp_path: Path, rng: np.random.Generator
) -> None:
    array = array_of(np.dtype(dtype), shape, rng)
    code = helper.np_dtype_to_tensor_dtype(array.dtype)
    raw = numpy_helper.from_array(array, "w")
    typed = helper.make_tensor("w", code, shape, array.reshape(-1).tolist())
    for tensor in (raw, typed):
        path = tmp_path / "m.onnx"
        path.write_bytes(passed_on(tensor).SerializeToString())
        for source in (passed_on(tensor), path.read_bytes(), path):
            found = only_output(source)
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array)


def test_bf16(rng: np.random.Generator) -> None:
    numbers = rng.integers(-100, 100, (5, 6)).astype(np.float32)
    tensor = helper.make_tensor("w", TensorProto.BFLOAT16, (5, 6), numbers.reshape(-1).tolist())
    np.testing.assert_array_equal(only_output(passed_on(tensor)).astype(np.float32), numbers)


def test_weights_in_a_file_are_references_into_it(tmp_path: Path, rng: np.random.Generator) -> None:
    array = rng.standard_normal((30, 40)).astype(np.float32)
    path = tmp_path / "m.onnx"
    onnx.save(passed_on(numpy_helper.from_array(array, "w")), path)
    (constant,) = constants(import_onnx(path))
    assert isinstance(constant.value, BlobAttr)
    blob = constant.value.data
    assert blob.path == str(path)
    assert path.read_bytes()[blob.offset : blob.offset + blob.size] == array.tobytes()


def test_reference_is_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    array = rng.standard_normal(100).astype(np.float32)
    onnx.save(passed_on(numpy_helper.from_array(array, "w")), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    module = import_onnx("m.onnx")
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(interpret(module, {})["w"], array)


def test_reshaped_weights_keep_their_reference(rng: np.random.Generator) -> None:
    weights = {"w": rng.standard_normal((50, 60)).astype(np.float32), "s": np.array([-1, 10])}
    nodes = [node("Reshape", ["w", "s"], ["v"]), node("Transpose", ["x"], ["y"])]
    made = model(nodes, [value("x", [3, 4])], ["v", "y"], weights)
    (constant,) = constants(import_onnx(made))
    assert isinstance(constant.value, BlobAttr)
    found = constant_of(constant.result)
    assert found is not None
    np.testing.assert_array_equal(found, weights["w"].reshape(-1, 10))


def test_constant_of_shape_is_not_materialised() -> None:
    shape = numpy_helper.from_array(np.array([1024, 1024, 512]), "s")
    made = model([node("ConstantOfShape", ["s"], ["y"])], [], ["y"], [shape])
    module = import_onnx(made)
    assert "glow.splat" in str(module)
    assert not constants(module)


def test_unused_initializers_cost_nothing(rng: np.random.Generator) -> None:
    bad = TensorProto(name="unused", data_type=TensorProto.STRING, dims=[-3])
    made = model([node("Relu", ["x"], ["y"])], [value("x", [2])], ["y"], [bad])
    assert not constants(import_onnx(made))


# malformed tensors


@pytest.mark.parametrize("size", [0, 4, 44, 52, 4800])
def test_wrong_amount_of_raw_data(size: int, tmp_path: Path) -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3, 4], raw_data=b"x" * size)
    path = tmp_path / "m.onnx"
    onnx.save(passed_on(tensor), path)
    for source in (passed_on(tensor), path):
        with pytest.raises(ModelError, match=f"'w': expected 48 bytes for FLOAT.*found {size}"):
            import_onnx(source)


def test_wrong_amount_of_typed_data() -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.INT32, dims=[3, 4], int32_data=[1, 2])
    with pytest.raises(ModelError, match="'w': expected 12 elements of INT32"):
        import_onnx(passed_on(tensor))


@pytest.mark.parametrize("dims", [[-1, 4], [2**40, 2**40]])
def test_negative_and_enormous_dimensions(dims: list[int]) -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=b"1234")
    with pytest.raises(ModelError, match=r"'w'.*(at least 0|limit of)"):
        import_onnx(passed_on(tensor))


def test_strings_that_are_missing() -> None:
    tensor = TensorProto(name="w", data_type=TensorProto.STRING, dims=[2], string_data=[b"a"])
    with pytest.raises(ModelError, match="initializer 'w': expected 2 strings, found 1"):
        import_onnx(passed_on(tensor))


@pytest.mark.parametrize("code", ["COMPLEX64", "COMPLEX128"])
def test_element_types_without_counterpart(code: str) -> None:
    tensor = TensorProto(name="w", data_type=getattr(TensorProto, code), dims=[1])
    made = model([node("Identity", ["w"], ["y"])], [], ["y"], [tensor])
    with pytest.raises(UnsupportedError, match=f"initializer 'w' has elements of type {code}"):
        import_onnx(made)


# external data


def external(location: str, **entries: object) -> ModelProto:
    """Returns a model with 100 floats of external data."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[100])
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(text))
    return passed_on(tensor)


@pytest.fixture
def folder(tmp_path: Path, rng: np.random.Generator) -> Path:
    """
    Returns a folder with 120 floats in `data.bin` and in `sub/data.bin`, and a secret beside it.
    """
    inside = tmp_path / "model"
    (inside / "sub").mkdir(parents=True)
    data = rng.standard_normal(120).astype(np.float32).tobytes()
    for path in (inside / "data.bin", inside / "sub" / "data.bin", tmp_path / "secret.bin"):
        path.write_bytes(data)
    return inside


def saved(folder: Path, made: ModelProto) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize("location", ["data.bin", "sub/data.bin", "./data.bin"])
@pytest.mark.parametrize("entries", [{}, {"offset": 40}, {"offset": 80, "length": 400}])
def test_external_data(folder: Path, location: str, entries: dict[str, int]) -> None:
    path = saved(folder, external(location, **entries))
    want = np.fromfile(folder / "data.bin", np.float32)[entries.get("offset", 0) // 4 :][:100]
    np.testing.assert_array_equal(only_output(path), want)


def test_links_inside_the_folder_are_followed(folder: Path) -> None:
    (folder / "link.bin").symlink_to("sub/data.bin")
    assert only_output(saved(folder, external("link.bin"))).shape == (100,)


@pytest.mark.parametrize(
    ("location", "entries", "message"),
    [
        ("../secret.bin", {}, "without '..'"),
        ("sub/../../secret.bin", {}, "without '..'"),
        ("sub/../data.bin", {}, "without '..'"),
        ("..\\secret.bin", {}, "without '..'"),
        ("/etc/passwd", {}, "relative path"),
        ("C:\\data.bin", {}, "relative path"),
        ("\\\\host\\data.bin", {}, "relative path"),
        ("", {}, "relative path"),
        ("absent.bin", {}, "does not exist"),
        ("sub", {}, "not a file"),
        ("a\0b", {}, "cannot be found: embedded null"),
        ("a" * 5000, {}, "cannot be found: .*too long"),
        ("data.bin", {"offset": 84}, "too short"),
        ("data.bin", {"offset": 10**30}, "too short"),
        ("data.bin", {"offset": -4}, "offset of at least 0"),
        ("data.bin", {"offset": "four"}, "offset of at least 0"),
        ("data.bin", {"length": 396}, "expected 400 bytes"),
        ("data.bin", {"length": -1}, "length of at least 0"),
    ],
)
def test_bad_external_data(
    folder: Path, location: str, entries: dict[str, object], message: str
) -> None:
    with pytest.raises(ModelError, match=f"initializer 'w'.*{message}"):
        import_onnx(saved(folder, external(location, **entries)))


def test_links_out_of_the_folder_are_refused(folder: Path) -> None:
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    (folder / "up").symlink_to(folder.parent)
    for location in ("link.bin", "up/secret.bin"):
        with pytest.raises(ModelError, match=r"'w'.*outside of the model's folder"):
            import_onnx(saved(folder, external(location)))


def test_special_files_are_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(ModelError, match="not a file"):
        import_onnx(saved(folder, external("pipe")))


def test_external_data_of_a_model_in_memory() -> None:
    with pytest.raises(ModelError, match=r"'w'.*the model is not a file"):
        import_onnx(external("data.bin"))
