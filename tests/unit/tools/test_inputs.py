"""Arrays from files and images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from glow.errors import InputError
from glow.interface.index_range import IndexRange
from glow.interface.signature import TensorInfo
from glow.tools.inputs import Preprocessing, load_image, load_inputs, parse_numbers, random_array
from PIL import Image


def info(*shape: int, dtype: str = "float32", name: str = "x") -> TensorInfo:
    return TensorInfo(name, list(shape), np.dtype(dtype))


@pytest.fixture
def pixels(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 256, (5, 7, 3), dtype=np.uint8)


@pytest.fixture
def photo(tmp_path: Path, pixels: np.ndarray) -> Path:
    path = tmp_path / "photo.png"
    Image.fromarray(pixels).save(path)
    return path


def test_rgb_image_is_scaled_to_one(photo: Path, pixels: np.ndarray) -> None:
    found = load_image(photo, info(1, 3, 5, 7), Preprocessing())
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0], pixels.transpose(2, 0, 1) / 255, rtol=1e-6)


def test_mean_is_in_the_order_of_the_network(photo: Path, pixels: np.ndarray) -> None:
    how = Preprocessing((104, 117, 123), (1.0,), "BGR")
    found = load_image(photo, info(1, 3, 5, 7, dtype="float16"), how)
    assert found.dtype == np.float16
    bgr = pixels[:, :, ::-1].astype(np.float32) - (104, 117, 123)
    np.testing.assert_array_equal(found[0], bgr.transpose(2, 0, 1))


def test_channels_last(photo: Path, pixels: np.ndarray) -> None:
    how = Preprocessing(scale=(1.0,), layout="NHWC")
    np.testing.assert_array_equal(load_image(photo, info(5, 7, 3), how), pixels)


def test_bytes_stay_bytes(photo: Path, pixels: np.ndarray) -> None:
    found = load_image(photo, info(2, 3, 5, 7, dtype="uint8"), Preprocessing())
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, np.stack([pixels.transpose(2, 0, 1)] * 2))


def test_integers_are_rounded_and_clipped(photo: Path) -> None:
    found = load_image(photo, info(3, 5, 7, dtype="int8"), Preprocessing(scale=(1.0,)))
    assert found.max() <= 127


def test_one_channel_is_grey(photo: Path) -> None:
    with Image.open(photo) as image:
        grey = np.asarray(image.convert("L"), np.float32)
    for shape in ((1, 1, 5, 7), (1, 5, 7), (5, 7)):
        found = load_image(photo, info(*shape), Preprocessing(scale=(1.0,)))
        assert found.shape == shape
        np.testing.assert_array_equal(found.reshape(5, 7), grey)


def test_images_are_resized(photo: Path) -> None:
    assert load_image(photo, info(1, 3, 11, 4), Preprocessing()).shape == (1, 3, 11, 4)


@pytest.mark.parametrize(
    ("shape", "message"),
    [((1, 5, 5, 7), "5 channels"), ((7,), "does not take an image"), ((1,) * 5, "does not take")],
)
def test_networks_that_take_no_images(shape: tuple[int, ...], message: str, photo: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_image(photo, info(*shape), Preprocessing())


def test_wrong_number_of_means(photo: Path) -> None:
    with pytest.raises(InputError, match="--image-mean"):
        load_image(photo, info(1, 3, 5, 7), Preprocessing((1.0, 2.0)))


def test_damaged_image(tmp_path: Path) -> None:
    path = tmp_path / "bad.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\nand no more")
    with pytest.raises(InputError, match=r"bad\.png"):
        load_image(path, info(1, 3, 5, 7), Preprocessing())


def test_files_by_name(tmp_path: Path, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 3)), rng.standard_normal(4)
    np.save(tmp_path / "a=1.npy", a)
    np.savez(tmp_path / "b.npz", anything=b)
    infos = [info(2, 3, name="a"), info(4, name="b=c"), info(2, name="r")]
    specs = [f"a={tmp_path / 'a=1.npy'}", f"b=c={tmp_path / 'b.npz'}"]
    arrays, origins = load_inputs(specs, infos, Preprocessing(), rng)
    np.testing.assert_array_equal(arrays["a"], a)
    np.testing.assert_array_equal(arrays["b=c"], b)
    assert origins["r"] == "random"
    assert arrays["r"].shape == (2,)


def test_npz_with_all_names(tmp_path: Path, rng: np.random.Generator) -> None:
    np.savez(tmp_path / "all.npz", a=np.ones(2), b=np.zeros(3))
    infos = [info(2, name="a"), info(3, name="b")]
    arrays, _ = load_inputs([str(tmp_path / "all.npz")], infos, Preprocessing(), rng)
    assert set(arrays) == {"a", "b"}
    with pytest.raises(InputError, match="no input is called 'b'"):
        load_inputs([str(tmp_path / "all.npz")], infos[:1], Preprocessing(), rng)


def test_onnx_tensor(tmp_path: Path, rng: np.random.Generator) -> None:
    a = rng.standard_normal((2, 3)).astype(np.float32)
    (tmp_path / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(a).SerializeToString())
    arrays, _ = load_inputs([str(tmp_path / "input_0.pb")], [info(2, 3)], Preprocessing(), rng)
    np.testing.assert_array_equal(arrays["x"], a)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("y=file.npy", "no input is called 'y'"),
        ("file.npy", "which input"),
        ("a=file.npy", r"file\.npy: cannot be read: No such file"),
        ("a=file.txt", r"found the suffix \.txt"),
        ("a=file", r"found the suffix \(none\)"),
    ],
)
def test_wrong_specs(spec: str, message: str, rng: np.random.Generator) -> None:
    infos = [info(2, name="a"), info(2, name="b")]
    with pytest.raises(InputError, match=message):
        load_inputs([spec], infos, Preprocessing(), rng)


def test_input_given_twice(tmp_path: Path, rng: np.random.Generator) -> None:
    np.save(tmp_path / "a.npy", np.ones(2))
    spec = f"x={tmp_path / 'a.npy'}"
    with pytest.raises(InputError, match="twice"):
        load_inputs([spec, spec], [info(2)], Preprocessing(), rng)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "uint8", "bool"])
def test_random_arrays(dtype: str, rng: np.random.Generator) -> None:
    found = random_array(info(50, 40, dtype=dtype), rng)
    assert found.dtype == dtype
    assert len(np.unique(found)) > 1
    if dtype == "int64":
        assert found.min() >= 0, "small numbers, which may be indices"


@pytest.mark.parametrize(
    ("ranges", "low", "high"),
    [
        ([IndexRange((-2,), (1,), "Gather")], 0, 1),
        ([IndexRange((-50_000,), (49_999,), "Gather")], 0, 9),
        ([IndexRange((0,), (7,), "a"), IndexRange((-4,), (3,), "b")], 0, 3),
        ([IndexRange((20,), (30,), "a")], 20, 20),
        ([IndexRange((-3,), (-2,), "a")], -3, -2),
    ],
)
def test_random_indices_are_in_their_ranges(
    ranges: list[IndexRange], low: int, high: int, rng: np.random.Generator
) -> None:
    found = random_array(replace(info(50, 40, dtype="int64"), ranges=tuple(ranges)), rng)
    assert found.dtype == np.int64
    assert (found.min(), found.max()) == (low, high)
    for each in ranges:
        each.expect(found, "x")


def test_random_indices_of_several_dimensions(rng: np.random.Generator) -> None:
    each = IndexRange((-3, -1), (2, 0), "GatherND")
    found = random_array(replace(info(70, 2, dtype="int32"), ranges=(each,)), rng)
    assert found.max(axis=0).tolist() == [2, 0]


@pytest.mark.parametrize("count", [0, 1, 13])
def test_random_lengths_and_offsets(count: int, rng: np.random.Generator) -> None:
    total = 29 if count else 0
    lengths = IndexRange((0,), (total,), "SparseLengthsSum", total=total)
    offsets = IndexRange((0,), (8,), "EmbeddingBag", ascending=True)
    for each in (lengths, offsets):
        found = random_array(replace(info(count, dtype="int64"), ranges=(each,)), rng)
        assert found.shape == (count,)
        each.expect(found, "x")


def test_sequences_are_no_files(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="input 'x' is a sequence, and files have tensors"):
        load_inputs([], [replace(info(2), is_sequence=True)], Preprocessing(), rng)


def test_numbers() -> None:
    assert parse_numbers("104, 117,123.5") == (104, 117, 123.5)
    assert parse_numbers("1/255") == (1 / 255,)
    for wrong in ("", "a", "1/0", "1,,2"):
        with pytest.raises(ValueError, match=r"Fraction|division"):
            parse_numbers(wrong)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("content", ["", "noise", "cut", "other form", "damaged"])
def test_bad_files_of_numpy(
    suffix: str, content: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    path, array = tmp_path / f"x{suffix}", rng.standard_normal((1, 3))
    with path.open("wb") as file:
        if (suffix == ".npy") == (content == "other form"):
            np.savez_compressed(file, x=array)
        else:
            np.save(file, array)
    data = path.read_bytes()
    damaged = bytes([*data[:9], *(b ^ 0x55 for b in data[9:])])
    changed = {"": b"", "noise": rng.bytes(100), "cut": data[: len(data) // 2], "damaged": damaged}
    path.write_bytes(changed.get(content, data))
    messages = {"": "is not a .npy or", "noise": "is not a .npy or", "other form": "archive"}
    with pytest.raises(InputError, match=messages.get(content, "cannot be read")) as error:
        load_inputs([str(path)], [info(1, 3, dtype="float64")], Preprocessing(), rng)
    assert str(error.value).startswith(f"{path}: ")
    assert "pickle" not in str(error.value)
