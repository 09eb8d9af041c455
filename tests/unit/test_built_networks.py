"""The networks that are built by script agree with onnxruntime, and run as few, fused operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.benchmarks.built_networks import BUILT
from glow.benchmarks.networks import ALL, network, network_file

Compiled = Callable[[str], tuple[Path, glow.CompiledModel]]


def inputs_of(model: glow.CompiledModel, seed: int) -> dict[str, np.ndarray]:
    """Returns random images; random tokens, and a mask that leaves out the last ones."""
    rng = np.random.default_rng(seed)
    found: dict[str, np.ndarray] = {}
    for info in model.get_inputs():
        if info.name == "mask":
            found[info.name] = (np.arange(info.shape[1]) < 100).astype(np.int64)[None]
        elif np.dtype(info.dtype).kind == "i":
            found[info.name] = rng.integers(0, 30000, info.shape)
        else:
            found[info.name] = rng.standard_normal(info.shape).astype(np.float32)
    return found


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiled]:
    """Returns what gives the file of a network and the compiled network, made once."""

    @cache
    def made(name: str) -> tuple[Path, glow.CompiledModel]:
        path = network_file(name, tmp_path_factory.mktemp(name), seed=3)
        return path, glow.compile(path)

    yield made
    made.cache_clear()


@pytest.mark.parametrize("name", BUILT)
def test_agreement_with_onnxruntime(name: str, compiled: Compiled):
    path, model = compiled(name)
    onnx.checker.check_model(str(path), full_check=True)
    feed = inputs_of(model, 5)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    (want,) = session.run(None, feed)
    (found,) = model.run(None, feed)
    want = np.asarray(want)
    assert np.abs(found - want).max() < 1e-4 * np.abs(want).max()
    # random weights keep the scale of activations
    assert 0.1 < np.std(want) < 10


def test_the_encoder_is_fused(compiled: Compiled):
    _, model = compiled("encoder")
    counts = Counter(op.name for op in model.stages["allocated"].walk())
    instructions = {n: c for n, c in counts.items() if "." in n and n.split(".")[0] == "glow_inst"}
    assert instructions["glow_inst.masked_attention"] == 6
    assert instructions["glow_inst.packed_matmul"] == 36
    assert instructions["glow_inst.layer_norm"] == 13
    assert instructions["glow_inst.gather"] == 1
    # the embeddings' sum and the mask; everything else is the epilogue of a product
    assert instructions["glow_inst.stacked"] == 2
    assert not {"glow_inst.transpose", "glow_inst.copy", "glow_inst.softmax"} & set(instructions)


def test_names():
    assert len(set(ALL)) == len(ALL) == 11
    assert set(BUILT) < set(ALL)


def test_weights_depend_on_the_seed_alone():
    first, again, other = (network("mobilenet_v2", seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
