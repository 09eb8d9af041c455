"""
Measures how fast decoders generate tokens, beside onnxruntime:

    python -m glow.benchmarks.decoding MODEL.onnx --tokens 512 --threads 1

The model has caches of keys and values as inputs `past_*`, and their next values as the outputs
behind the first one, in the same order, as `glow.benchmarks.exports` exports them. Both runtimes
compute the same tokens, in turns of 16: after a call, the threads of each keep a processor for a
while.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import onnx
import onnxruntime

from ..cached_model import CachedModel
from ..compiler import compile
from ..errors import GlowError

TURN = 16
"""The number of calls of one runtime before those of the other one."""


def measure(path: Path, rows: int, tokens: int, threads: int, seed: int) -> tuple[float, ...]:
    """
    Returns the seconds of a token in both runtimes (medians), and the largest difference of logits
    relative to the largest logit. The caches have `rows` rows before the first token.
    """
    graph = onnx.load(str(path), load_external_data=False).graph
    pasts = [i.name for i in graph.input if i.name.startswith("past")]
    presents = [o.name for o in graph.output][1:]
    states = dict(zip(pasts, presents, strict=True))
    model = compile(path, threads=threads, states=states, buckets=[rows + tokens])
    if not isinstance(model, CachedModel):
        raise GlowError("expected a decoder whose caches have a symbolic number of rows")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    other = onnxruntime.InferenceSession(str(path), options)
    rng, session = np.random.default_rng(seed), model.session()
    state = _no_rows(model, pasts)
    own, theirs, worst, length = [], [], 0.0, 0
    for first in range(0, tokens, TURN):
        feeds: list[dict[str, np.ndarray]] = []
        for step in range(first, min(first + TURN, tokens)):
            new = rows if step == 0 and rows else 1
            feeds.append(_feed(model, length, new, rng))
            length += new
        wanted: list[np.ndarray] = []
        for feed in feeds:
            start = time.perf_counter()
            want, *presented = (np.asarray(v) for v in other.run(None, {**feed, **state}))
            theirs.append(time.perf_counter() - start)
            wanted.append(want)
            state = dict(zip(pasts, presented, strict=True))
        for feed, want in zip(feeds, wanted, strict=True):
            start = time.perf_counter()
            (found,) = session.run(None, feed)
            own.append(time.perf_counter() - start)
            worst = max(worst, float(np.abs(found - want).max() / np.abs(want).max()))
    # the first call has the prompt, and the second one compiles the program for one token
    return median(own[2:]), median(theirs[2:]), worst


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
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    own, theirs, worst = measure(
        options.model, options.rows, options.tokens, options.threads, options.seed
    )
    print(f"glow: {1 / own:.1f} tokens per second, onnxruntime: {1 / theirs:.1f}")
    print(f"ratio {theirs / own:.2f}; largest difference {worst:.1e} of the largest logit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
