"""Arrays for the inputs of a network: from files, from images, or random."""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from ..errors import InputError
from ..wording import counted

if TYPE_CHECKING:
    from ..interface.signature import TensorInfo

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")

_MOST = 9
"""The largest random integer that is no byte."""


@dataclass(frozen=True)
class Preprocessing:
    """The conversion of pixels to numbers: `(pixel - mean) * scale`, with pixels from 0 to 255."""

    mean: tuple[float, ...] = (0.0,)
    """The mean: one value, or one for each channel in the order of the network."""
    scale: tuple[float, ...] | None = None
    """
    The scale of each channel, or of all. None is 1/255 for networks that take floats and 1 for
    those that take integers.
    """
    channel_order: str = "RGB"
    """RGB or BGR."""
    layout: str = "NCHW"
    """NCHW or NHWC. The first dimensions may be missing: CHW, HW, HWC."""


def parse_numbers(text: str) -> tuple[float, ...]:
    """Returns comma-separated numbers or fractions, `104,117,123` or `1/255`. Raises ValueError."""
    try:
        return tuple(float(Fraction(part.strip())) for part in text.split(","))
    except ZeroDivisionError:
        raise ValueError(f"division by zero in {text}") from None


def random_array(info: TensorInfo, rng: np.random.Generator) -> np.ndarray:
    """
    Returns normal floats, indices that are in their ranges, bytes of the whole range, or other
    integers from 0 to 9.
    """
    if info.dtype.kind == "b":
        return rng.integers(0, 2, info.shape).astype(bool)
    if info.ranges:
        return _random_indices(info, rng)
    if info.dtype.kind in "iu":
        low, high = (0, _MOST) if info.dtype.itemsize > 1 else _range(info.dtype)
        return rng.integers(low, high, info.shape, endpoint=True).astype(info.dtype)
    return rng.standard_normal(info.shape).astype(info.dtype)


def _random_indices(info: TensorInfo, rng: np.random.Generator) -> np.ndarray:
    """Returns indices that suit the operators which take them; small ones if these suit."""
    low = reduce(np.maximum, (np.array(each.low) for each in info.ranges))
    high = reduce(np.minimum, (np.array(each.high) for each in info.ranges))
    # negative indices count from the end
    low = np.where(high < 0, low, np.maximum(low, 0))
    few = np.maximum(low, np.minimum(high, _MOST))
    found = rng.integers(low, few, info.shape, endpoint=True)
    for each in info.ranges:
        if each.total is not None and found.size:
            found = rng.multinomial(each.total, np.full(info.shape, 1 / found.size))
        if each.ascending:
            found = np.sort(found)
    return found.astype(info.dtype)


def _range(dtype: np.dtype) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def preprocessing_of(args: argparse.Namespace) -> Preprocessing:
    """Returns the preprocessing from the flags of `arguments.add_image_arguments`."""
    return Preprocessing(
        args.image_mean, args.image_scale, args.image_channel_order, args.image_layout
    )


def given_shapes(
    specs: Iterable[str], infos: Sequence[TensorInfo], preprocessing: Preprocessing
) -> dict[str, Sequence[int | None]]:
    """
    Returns the shapes of the inputs that have a spec of `load_inputs`, by name. An image decides
    height and width, which are the last dimensions but channels. Raises InputError as `load_inputs`
    does.
    """
    by_name = {info.name: info for info in infos}
    shapes: dict[str, Sequence[int | None]] = {}
    for spec in specs:
        name, path = _named(spec, by_name)
        if name is not None and path.suffix.lower() in IMAGE_SUFFIXES:
            shapes[name] = image_shape(path, by_name[name], preprocessing.layout)
        else:
            loaded = _load(spec, by_name, preprocessing)
            shapes |= {name: array.shape for name, array, _ in loaded}
    return shapes


def image_shape(path: Path, info: TensorInfo, layout: str) -> Sequence[int | None]:
    """
    Returns the shape of an image as an input of the rank of `info`, without the sizes of batches.
    """
    # most inputs are no images
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as opened:
            width, height = opened.size
    except (OSError, UnidentifiedImageError, ValueError) as e:
        raise InputError(f"{path}: cannot be read: {_image_problem(e)}") from None
    image = [height, width, 3] if layout == "NHWC" else [3, height, width]
    if len(info.shape) == 2:
        image = [height, width]
    return [*[None] * (len(info.shape) - len(image)), *image]


def load_inputs(
    specs: Iterable[str],
    infos: Sequence[TensorInfo],
    preprocessing: Preprocessing,
    rng: np.random.Generator,
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """
    Returns an array for every input, and a word on where each came from.

    A spec is `name=file`, or `file` alone if the network has one input or the file is an `.npz`
    with the names. Inputs without a spec are random. Raises InputError for unknown names, files
    that cannot be read, and images that do not fit.
    """
    by_name = {info.name: info for info in infos}
    arrays: dict[str, np.ndarray] = {}
    origins: dict[str, str] = {}
    for spec in specs:
        for name, array, origin in _load(spec, by_name, preprocessing):
            if name in arrays:
                raise InputError(f"input {name!r} is given twice")
            arrays[name] = array
            origins[name] = origin
    for info in infos:
        if info.is_sequence:
            raise InputError(
                f"input {info.name!r} is a sequence, and files have tensors: use glow.compile and "
                "call the model with a list of arrays"
            )
        if info.name not in arrays:
            arrays[info.name] = random_array(info, rng)
            origins[info.name] = "random"
    return arrays, origins


def _load(
    spec: str, infos: dict[str, TensorInfo], preprocessing: Preprocessing
) -> list[tuple[str, np.ndarray, str]]:
    name, path = _named(spec, infos)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _load_npz(name, path, infos)
    assert name is not None
    if suffix in IMAGE_SUFFIXES:
        return [(name, load_image(path, infos[name], preprocessing), str(path))]
    if suffix == ".pb":
        return [(name, _load_proto(path), str(path))]
    if suffix == ".npy":
        array = read_numpy(path)
        if isinstance(array, dict):
            raise InputError(f"{path}: expected one array, found an archive; call it .npz")
        return [(name, array, str(path))]
    known = ".npy, .npz, .pb or an image"
    raise InputError(f"{path}: expected {known}, found the suffix {suffix or '(none)'}")


def _named(spec: str, infos: dict[str, TensorInfo]) -> tuple[str | None, Path]:
    """Returns the input and the file of a spec; None for a file that may have several inputs."""
    name, path = _split(spec, infos)
    if name is None and path.suffix.lower() != ".npz":
        if len(infos) != 1:
            known = ", ".join(infos)
            raise InputError(f"{path}: which input is this for? write name={path}, one of: {known}")
        name = next(iter(infos))
    return name, path


def _split(spec: str, infos: dict[str, TensorInfo]) -> tuple[str | None, Path]:
    # both names and paths may contain `=`
    for name in infos:
        if spec.startswith(f"{name}="):
            return name, Path(spec[len(name) + 1 :])
    head, equals, tail = spec.partition("=")
    if equals and not Path(spec).exists():
        raise InputError(f"no input is called {head!r} (for {tail}); there is: {', '.join(infos)}")
    return None, Path(spec)


def read_numpy(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """
    Returns the array of a `.npy` file, or those of a `.npz` file by their names. Raises InputError
    if the file cannot be read.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else dict(loaded.items())
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error, NotImplementedError) as e:
        reason = getattr(e, "strerror", None) or _numpy_problem(path, e)
        raise InputError(f"{path}: cannot be read: {reason}") from None


def _numpy_problem(path: Path, error: Exception) -> str:
    """
    Returns what is wrong with a file. numpy takes one that has no form it knows for a pickle.
    """
    with path.open("rb") as file:
        known = file.read(6).startswith((b"PK\3\4", b"PK\5\6", b"\x93NUMPY"))
    return str(error) if known else "it is not a .npy or .npz file, or damaged"


def _load_npz(
    name: str | None, path: Path, infos: dict[str, TensorInfo]
) -> list[tuple[str, np.ndarray, str]]:
    found = read_numpy(path)
    if not isinstance(found, dict):
        raise InputError(f"{path}: expected an archive of arrays, found one array; call it .npy")
    if name is not None:
        array = found.get(name, next(iter(found.values())) if len(found) == 1 else None)
        if array is None:
            raise InputError(f"{path}: expected an array {name!r}, found {', '.join(found)}")
        return [(name, array, str(path))]
    if unknown := [n for n in found if n not in infos]:
        raise InputError(f"{path}: no input is called {unknown[0]!r}; there is: {', '.join(infos)}")
    return [(n, array, f"{path}[{n}]") for n, array in found.items()]


def _load_proto(path: Path) -> np.ndarray:
    # most inputs are no messages of ONNX
    import onnx
    from google.protobuf.message import DecodeError

    tensor = onnx.TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
        return onnx.numpy_helper.to_array(tensor)
    except (OSError, DecodeError, ValueError, TypeError) as e:
        raise InputError(f"{path}: cannot be read as an ONNX tensor: {e}") from None


def load_image(path: Path, info: TensorInfo, preprocessing: Preprocessing) -> np.ndarray:
    """
    Returns an image in the shape and dtype of `info`, resized (bilinear) to its height and width.

    Networks with one channel get the luminance. A batch gets the image repeatedly. Raises
    InputError if the file is no image, or the network does not take images.
    """
    # as in `image_shape`
    from PIL import Image, UnidentifiedImageError

    channels, height, width = _image_shape(info, preprocessing.layout)
    modes = {1: "L", 3: "RGB", 4: "RGBA"}
    if channels not in modes:
        raise InputError(
            f"input {info.name!r} of shape {info.shape} has {counted(channels, 'channel')} in the "
            f"layout {preprocessing.layout}; images have 1, 3 or 4"
        )
    try:
        with Image.open(path) as opened:
            image = opened.convert(modes[channels])
    except (OSError, UnidentifiedImageError, ValueError) as e:
        raise InputError(f"{path}: cannot be read: {_image_problem(e)}") from None
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(image, np.float32).reshape(height, width, channels)
    if preprocessing.channel_order == "BGR" and channels == 3:
        pixels = pixels[:, :, ::-1]
    values = (pixels - _channelwise(preprocessing.mean, channels, "mean")) * _channelwise(
        _scale(preprocessing, info), channels, "scale"
    )
    if preprocessing.layout == "NCHW":
        values = values.transpose(2, 0, 1)
    shape = [d for d in info.shape if len(info.shape) >= 3] or [height, width]
    if info.dtype.kind in "iu":
        values = np.clip(np.round(values), *_range(info.dtype))
    values = values.reshape(shape[-2:]) if len(info.shape) == 2 else values
    return np.ascontiguousarray(np.broadcast_to(values, shape)).astype(info.dtype)


def _image_problem(error: Exception) -> str:
    return getattr(error, "strerror", None) or "it is not an image, or damaged"


def _image_shape(info: TensorInfo, layout: str) -> tuple[int, int, int]:
    shape = info.shape
    if not 2 <= len(shape) <= 4:
        raise InputError(f"input {info.name!r} of shape {shape} does not take an image")
    if len(shape) == 2:
        return 1, shape[0], shape[1]
    if layout == "NHWC":
        return shape[-1], shape[-3], shape[-2]
    return shape[-3], shape[-2], shape[-1]


def _scale(preprocessing: Preprocessing, info: TensorInfo) -> tuple[float, ...]:
    if preprocessing.scale is not None:
        return preprocessing.scale
    return (1.0,) if info.dtype.kind in "iu" else (1 / 255,)


def _channelwise(values: tuple[float, ...], channels: int, what: str) -> np.ndarray:
    if len(values) not in (1, channels):
        expected = "1 value" if channels == 1 else f"1 or {channels} values"
        raise InputError(f"expected {expected} for --image-{what}, found {len(values)}")
    return np.asarray(values, np.float32)


def read_labels(path: str) -> str:
    """Returns the text of a file of labels. Raises InputError if it is no text."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as e:
        raise InputError(
            f"{path}: expected text in UTF-8 with one label in each line, but byte {e.start} is "
            f"0x{e.object[e.start]:02x}"
        ) from None
