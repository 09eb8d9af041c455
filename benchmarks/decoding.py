"""
Measures how fast decoders generate tokens, beside onnxruntime:

    python -m glow.benchmarks.decoding MODEL.onnx --tokens 512 --threads 1 --bits 4

The model has caches of keys and values as inputs `past_*`, and their next values as the outputs
behind the first one, in the same order, as `glow.benchmarks.exports` exports them. With `--bits`,
onnxruntime's quantizer (which needs the package onnx-ir) stores constant matrices in blocks of 32
numbers of 4 or 8 bits, and products may round their inputs to 8 bits. All runtimes compute the same
tokens, in turns of 16: after a call, the threads of each keep a processor for a while.

`--llama` adds llama.cpp, with a Llama of 100 million random parameters, the shape of the export
`llama-100m-cache`. It needs the packages llama-cpp-python and gguf.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnxruntime

from ..compiler import compile
from ..errors import GlowError
from ..models.cached_model import CachedModel
from .exports.llama_100m import LLAMA_100M
from .failures import in_one_line

TURN = 16
"""The number of calls of one runtime before those of another one."""
BLOCK = 32
"""The numbers of a matrix that have one scale."""

Feed = Mapping[str, np.ndarray]


@dataclass
class Runtime:
    """A runtime that is measured: it computes the logits behind new tokens, or None."""

    name: str
    run: Callable[[Feed], np.ndarray | None]
    seconds: list[float] = field(default_factory=list)

    def turn(self, feeds: Sequence[Feed]) -> list[np.ndarray | None]:
        """Computes the logits of some calls."""
        found: list[np.ndarray | None] = []
        for feed in feeds:
            start = time.perf_counter()
            found.append(self.run(feed))
            self.seconds.append(time.perf_counter() - start)
        return found

    @property
    def typical(self) -> float:
        """The median of the seconds of a token."""
        # the first call has the prompt, and the second one compiles the program for one token
        return median(self.seconds[2:])


def measure(options: argparse.Namespace, folder: Path) -> tuple[list[Runtime], float]:
    """
    Returns the runtimes with their times, ours first, and the largest difference of logits to those
    of onnxruntime, relative to the largest logit. Files are written to `folder`.
    """
    path: Path = options.model
    if options.bits:
        path = _quantized(path, folder, options.bits)
    graph = onnx.load(str(path), load_external_data=False).graph
    pasts = [i.name for i in graph.input if i.name.startswith("past")]
    presents = [o.name for o in graph.output][1:]
    states = dict(zip(pasts, presents, strict=True))
    rows = options.rows + options.tokens
    model = compile(path, threads=options.threads, states=states, buckets=[rows])
    if not isinstance(model, CachedModel):
        raise GlowError("expected a decoder whose caches have a symbolic number of rows")
    session = model.session()
    runtimes = [
        Runtime("glow", lambda feed: session.run(None, feed)[0]),
        _onnxruntime(path, options.threads, _no_rows(model, pasts), pasts),
    ]
    if options.llama:
        runtimes.append(_llama(folder, options.bits, rows, options.threads))
    return runtimes, _in_turns(model, runtimes, options)


def _in_turns(
    model: CachedModel, runtimes: Sequence[Runtime], options: argparse.Namespace
) -> float:
    rng, length, worst = np.random.default_rng(options.seed), 0, 0.0
    for first in range(0, options.tokens, TURN):
        feeds: list[Feed] = []
        for step in range(first, min(first + TURN, options.tokens)):
            new = options.rows if step == 0 and options.rows else 1
            feeds.append(_feed(model, length, new, rng))
            length += new
        # the order alternates, since a runtime finds the caches of the processor as another left it
        order = runtimes if first // TURN % 2 else runtimes[::-1]
        found = {runtime.name: runtime.turn(feeds) for runtime in order}
        for own, want in zip(found["glow"], found["onnxruntime"], strict=True):
            assert own is not None
            assert want is not None
            worst = max(worst, float(np.abs(own - want).max() / np.abs(want).max()))
    return worst


def _onnxruntime(
    path: Path, threads: int, empty: Mapping[str, np.ndarray], pasts: Sequence[str]
) -> Runtime:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options)
    state = dict(empty)

    def run(feed: Feed) -> np.ndarray:
        logits, *presents = (np.asarray(v) for v in session.run(None, {**feed, **state}))
        state.update(zip(pasts, presents, strict=True))
        return logits

    return Runtime("onnxruntime", run)


def _llama(folder: Path, bits: int, rows: int, threads: int) -> Runtime:
    # imported here because the packages are optional
    from .llama_peer import LlamaPeer

    peer = LlamaPeer(folder, LLAMA_100M, bits, rows, threads)

    def run(feed: Feed) -> None:
        (tokens,) = (array for name, array in feed.items() if "mask" not in name)
        peer.run(tokens)

    return Runtime("llama.cpp", run)


def _quantized(path: Path, folder: Path, bits: int) -> Path:
    """Writes a model whose products have weights of 4 or 8 bits, and returns its path."""
    # imported here because it needs the package onnx-ir
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantizer = MatMulNBitsQuantizer(
        onnx.load(str(path)), bits=bits, block_size=BLOCK, accuracy_level=4
    )
    quantizer.process()
    found = folder / "quantized.onnx"
    model: Any = quantizer.model
    onnx.save(model.model, str(found))
    return found


def _no_rows(model: CachedModel, pasts: Sequence[str]) -> dict[str, np.ndarray]:
    infos = {info.name: info for info in model.get_inputs()}
    symbol = model.past_symbol
    return {
        name: np.zeros(
            [0 if d == symbol else d if isinstance(d, int) else 1 for d in infos[name].shape],
            infos[name].dtype,
        )
        for name in pasts
    }


def _feed(
    model: CachedModel, length: int, new: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Returns random tokens of one sequence, and a mask of all."""
    feed: dict[str, np.ndarray] = {}
    vocabulary = model.get_outputs()[0].shape[-1]
    for info in model.call_signature.inputs:
        if model.total_symbol in info.shape:
            feed[info.name] = np.ones((1, length + new), info.dtype)
        else:
            feed[info.name] = rng.integers(0, vocabulary, (1, new)).astype(info.dtype)
    return feed


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures the model that the command line names; returns 0."""
    parser = argparse.ArgumentParser(prog="glow.benchmarks.decoding", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--rows", type=int, default=0, help="tokens before the first measured one")
    parser.add_argument("--tokens", type=int, default=32, help="calls that are measured")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bits", type=int, choices=(4, 8), default=0, help="bits of weights")
    parser.add_argument("--llama", action="store_true", help="run llama.cpp as well")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    # writers of models tell each node
    logging.disable(logging.INFO)
    with in_one_line(), TemporaryDirectory() as folder:
        runtimes, worst = measure(options, Path(folder))
    own = runtimes[0].typical
    for runtime in runtimes:
        ratio = f", ratio {runtime.typical / own:.2f}" if runtime is not runtimes[0] else ""
        print(f"{runtime.name}: {1 / runtime.typical:.1f} tokens per second{ratio}")
    print(f"largest difference {worst:.1e} of the largest logit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
