"""Data for profiles: what files become samples, and samples batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from glow.errors import InputError
from glow.interface.signature import TensorInfo
from glow.tools.datasets import Dataset, open_dataset
from glow.tools.inputs import Preprocessing, load_image
from PIL import Image

PLAIN = Preprocessing()


def info(name: str, *shape: int, dtype: str = "float32") -> TensorInfo:
    return TensorInfo(name, list(shape), np.dtype(dtype))


def dataset(path: Path, *infos: TensorInfo, limit: int | None = None) -> Dataset:
    return open_dataset(path, infos, PLAIN, limit)


def test_images(rng: np.random.Generator, tmp_path: Path) -> None:
    (tmp_path / "dogs").mkdir()
    paths = [tmp_path / "b.png", tmp_path / "a.jpg", tmp_path / "dogs" / "c.bmp"]
    for path in paths:
        Image.fromarray(rng.integers(0, 256, (9, 7, 3), np.uint8)).save(path)
    (tmp_path / "labels.txt").write_text("a dog")
    found = dataset(tmp_path, info("x", 2, 3, 5, 4))
    assert found.count() == 3
    (batch,) = found
    assert found.left_over == 1
    assert batch["x"].shape == (2, 3, 5, 4)
    assert batch["x"].dtype == np.float32
    alone = info("x", 1, 3, 5, 4)
    for array, path in zip(batch["x"], [paths[1], paths[0]], strict=True):
        assert np.array_equal(array, load_image(path, alone, PLAIN)[0])


def test_one_file_of_arrays(rng: np.random.Generator, tmp_path: Path) -> None:
    x, y = rng.standard_normal((7, 3, 2)), rng.integers(0, 9, (7, 5))
    np.savez(tmp_path / "d.npz", y=y, x=x, unused=x)
    found = dataset(tmp_path / "d.npz", info("x", 2, 3, 2), info("y", 2, 5, dtype="int32"))
    batches = list(found)
    assert found.left_over == 1
    assert [b["y"].dtype for b in batches] == [np.int32] * 3
    assert np.array_equal(np.concatenate([b["x"] for b in batches]), x[:6].astype(np.float32))
    assert np.array_equal(np.concatenate([b["y"] for b in batches]), y[:6])


def test_a_directory_of_arrays(rng: np.random.Generator, tmp_path: Path) -> None:
    many, one = rng.standard_normal((5, 3)), rng.standard_normal(3)
    np.save(tmp_path / "1.npy", many)
    np.save(tmp_path / "2.npy", one)
    found = dataset(tmp_path, info("x", 1, 3))
    assert found.count() == 6
    want = np.concatenate([many, one[None]]).astype(np.float32)
    assert np.array_equal(np.concatenate([b["x"] for b in found]), want)
    np.savez(tmp_path / "3.npz", any_name=many)
    assert dataset(tmp_path, info("x", 1, 3)).count() is None
    assert len(list(dataset(tmp_path, info("x", 1, 3)))) == 11


@pytest.mark.parametrize("limit", [1, 4, 99])
def test_limit(rng: np.random.Generator, tmp_path: Path, limit: int) -> None:
    np.save(tmp_path / "x.npy", rng.standard_normal((7, 3)))
    found = dataset(tmp_path, info("x", 1, 3), limit=limit)
    assert found.count() == min(limit, 7)
    assert len(list(found)) == min(limit, 7)


def test_no_data(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file or directory"):
        dataset(tmp_path / "nowhere", info("x", 1, 3))
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match=r"there are no data: expected images, \.npy or \.npz"):
        dataset(tmp_path, info("x", 1, 3))
    with pytest.raises(InputError, match=r"notes\.txt: expected a directory, an image, \.npy"):
        dataset(tmp_path / "notes.txt", info("x", 1, 3))
    np.save(tmp_path / "x.npy", np.ones((0, 3)))
    with pytest.raises(InputError, match="0 samples cannot fill a batch of 1"):
        list(dataset(tmp_path, info("x", 1, 3)))


def test_too_little_data(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    with pytest.raises(InputError, match="3 samples cannot fill a batch of 5"):
        list(dataset(tmp_path, info("x", 5, 2)))


@pytest.mark.parametrize(
    "infos", [(), (info("x"),), (info("x", 2, 3), info("y", 3, 3)), (info("x", 0, 3),)]
)
def test_networks_without_batches(tmp_path: Path, infos: tuple[TensorInfo, ...]) -> None:
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    with pytest.raises(InputError, match="expected inputs with the batch as first dimension"):
        dataset(tmp_path, *infos)


def test_wrong_arrays(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    two = (info("x", 1, 3), info("y", 1, 3))

    def read(*infos: TensorInfo, **arrays: np.ndarray) -> None:
        np.savez(path, allow_pickle=False, **arrays)
        list(dataset(path, *infos))

    with pytest.raises(InputError, match=r"samples of shape \(3,\), .*found shape \(5, 2\)"):
        read(two[0], x=np.ones((5, 2)))
    with pytest.raises(InputError, match="'x': expected float32, found int64"):
        read(two[0], x=np.ones((5, 3), np.int64))
    with pytest.raises(InputError, match="no array for the input y; it has x"):
        read(*two, x=np.ones((5, 3)))
    with pytest.raises(InputError, match="equally many samples of all inputs, found"):
        read(*two, x=np.ones((5, 3)), y=np.ones((4, 3)))
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"x\.npz: cannot be read"):
        list(dataset(path, *two))


@pytest.mark.parametrize("name", ["x.png", "x.npy"])
def test_one_file_for_several_inputs(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if path.suffix == ".npy":
        np.save(path, np.ones((2, 3)))
    else:
        Image.new("L", (3, 3)).save(path)
    with pytest.raises(InputError, match=r"several inputs \(x, y\); expected \.npz files"):
        list(dataset(path, info("x", 1, 3), info("y", 1, 3)))


def test_damaged_images(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"no image")
    with pytest.raises(InputError, match="it is not an image, or damaged"):
        list(dataset(tmp_path, info("x", 1, 1, 3, 3)))
