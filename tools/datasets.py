"""Data for profiles: the samples of files, put together to batches of a network's inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..wording import counted
from .inputs import IMAGE_SUFFIXES, Preprocessing, image_shape, load_image, read_numpy

if TYPE_CHECKING:
    from ..interface.signature import TensorInfo

ARRAY_SUFFIXES = (".npy", ".npz")


@dataclass
class Dataset:
    """
    Files with samples for the inputs of a network, read as they are needed.

    An image is one sample. An array is one sample if it has the shape of an input without the first
    dimension, else it has samples along its first dimension. An `.npz` file has an array of equally
    many samples for each input, by name (any name if there is one input). Floats are converted to
    the input's floats, integers to the input's integers.
    """

    files: list[Path]
    infos: Sequence[TensorInfo]
    preprocessing: Preprocessing
    limit: int | None = None
    """The largest number of samples that are read."""
    left_over: int = 0
    """The number of samples that did not fill the last batch, after iteration."""

    @property
    def batch_size(self) -> int:
        return self.infos[0].shape[0]

    def count(self) -> int | None:
        """Returns the number of samples, if it is known without reading much; else None."""
        counts = [self._length(file) for file in self.files]
        known = [c for c in counts if c is not None]
        if len(known) < len(counts):
            return None
        return sum(known) if self.limit is None else min(self.limit, sum(known))

    def _length(self, file: Path) -> int | None:
        if file.suffix.lower() in IMAGE_SUFFIXES:
            return 1
        if file.suffix.lower() != ".npy":
            return None
        try:
            shape = np.load(file, mmap_mode="r", allow_pickle=False).shape
        except (OSError, ValueError, EOFError):
            return None  # reading will report the reason
        return shape[0] if len(shape) == len(self.infos[0].shape) else 1

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        """
        Batches by the names of inputs. Raises InputError for files that cannot be read or do not
        fit, and if there are not samples enough for one batch.
        """
        pending: list[dict[str, np.ndarray]] = []
        batches = 0
        for sample in self._limited():
            pending.append(sample)
            if len(pending) == self.batch_size:
                yield {n: np.stack([p[n] for p in pending]) for n in pending[0]}
                pending = []
                batches += 1
        self.left_over = len(pending)
        if not batches:
            raise InputError(
                f"{self.files[0].parent}: {counted(len(pending), 'sample')} cannot fill a batch of "
                f"{self.batch_size}; use more data, or a model of another batch size"
            )

    def shapes(self) -> dict[str, Sequence[int | None]]:
        """
        Returns the shapes of inputs by name, as the first file has them; the number of samples in a
        batch is open.
        """
        file = self.files[0]
        if file.suffix.lower() in IMAGE_SUFFIXES:
            info = self._only_input(file)
            return {info.name: image_shape(file, info, self.preprocessing.layout)}
        arrays = self._arrays(file)
        ranks = {info.name: len(info.shape) for info in self.infos}
        return {n: (None, *arrays[n].shape[arrays[n].ndim - r + 1 :]) for n, r in ranks.items()}

    def _limited(self) -> Iterator[dict[str, np.ndarray]]:
        count = 0
        for file in self.files:
            for sample in self._samples(file):
                if count == self.limit:
                    return
                yield sample
                count += 1

    def _samples(self, file: Path) -> Iterator[dict[str, np.ndarray]]:
        if file.suffix.lower() in IMAGE_SUFFIXES:
            yield self._image(file)
            return
        arrays = self._arrays(file)
        columns = {info.name: _rows(arrays[info.name], info, file) for info in self.infos}
        lengths = {name: len(rows) for name, rows in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(
                f"{file}: expected equally many samples of all inputs, found {lengths}"
            )
        for rows in zip(*columns.values(), strict=True):
            yield dict(zip(columns, rows, strict=True))

    def _image(self, file: Path) -> dict[str, np.ndarray]:
        info = self._only_input(file)
        single = type(info)(info.name, [1, *info.shape[1:]], info.dtype)
        return {info.name: load_image(file, single, self.preprocessing)[0]}

    def _arrays(self, file: Path) -> dict[str, np.ndarray]:
        loaded = read_numpy(file)
        found = {None: loaded} if isinstance(loaded, np.ndarray) else loaded
        if len(found) == 1 and len(self.infos) == 1:
            return {self.infos[0].name: next(iter(found.values()))}
        if None in found:
            self._only_input(file)
        names = {n: a for n, a in found.items() if n is not None}
        if missing := [info.name for info in self.infos if info.name not in names]:
            raise InputError(
                f"{file}: no array for the input {', '.join(missing)}; it has {', '.join(names)}"
            )
        return names

    def _only_input(self, file: Path) -> TensorInfo:
        if len(self.infos) != 1:
            known = ", ".join(info.name for info in self.infos)
            raise InputError(
                f"{file}: the network has several inputs ({known}); "
                "expected .npz files with arrays of these names"
            )
        return self.infos[0]


def open_dataset(
    path: str | Path,
    infos: Sequence[TensorInfo],
    preprocessing: Preprocessing,
    limit: int | None = None,
) -> Dataset:
    """
    Returns the samples in a file, or in all images and arrays of a directory and those below it, in
    the order of their names. Other files are passed over.

    Raises InputError if there are none, and for a network whose inputs have no batches: without
    inputs, with numbers as inputs, or with first dimensions that differ.
    """
    place = Path(path)
    if not place.exists():
        raise InputError(f"{place}: no such file or directory")
    known = (*IMAGE_SUFFIXES, *ARRAY_SUFFIXES)
    if not place.is_dir():
        if place.suffix.lower() not in known:
            raise InputError(f"{place}: expected a directory, an image, .npy or .npz")
        files = [place]
    else:
        files = sorted(p for p in place.rglob("*") if p.suffix.lower() in known and p.is_file())
    if not files:
        raise InputError(f"{place}: there are no data: expected images, .npy or .npz files")
    sizes = {info.shape[0] if info.shape else 0 for info in infos}
    if len(sizes) != 1 or not min(sizes):
        shapes = ", ".join(f"{info.name} {info}" for info in infos) or "none"
        raise InputError(f"expected inputs with the batch as first dimension, found: {shapes}")
    return Dataset(files, infos, preprocessing, limit)


def _rows(array: np.ndarray, info: TensorInfo, file: Path) -> np.ndarray:
    """Returns the samples in an array, in the dtype of the input [samples, ...]."""
    shape = tuple(info.shape[1:])
    if array.shape == shape:
        array = array[None]
    if array.shape[1:] != shape or not array.ndim:
        raise InputError(
            f"{file}: input {info.name!r}: expected samples of shape {shape}, perhaps several in a "
            f"first dimension, found shape {array.shape}"
        )
    if _kind(array.dtype) != _kind(info.dtype):
        raise InputError(
            f"{file}: input {info.name!r}: expected {info.dtype.name}, found {array.dtype.name}"
        )
    return array.astype(info.dtype)


def _kind(dtype: np.dtype) -> str:
    """Returns whether a dtype has floats, integers, or truth values; bfloat16 is a float."""
    return {"f": "float", "V": "float", "i": "integer", "u": "integer"}.get(dtype.kind, dtype.kind)
