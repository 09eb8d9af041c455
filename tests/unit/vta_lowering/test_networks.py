"""Whole networks through the backend `vta`: a small ResNet-18, and the digits of the demo."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import pytest
from glow import quantization
from glow.benchmarks.vta import quantized, resnet18, rows
from glow.glow_dialects.glow.normalization import SoftmaxOp
from glow.glow_dialects.plan_attributes import ARENA_LOWER_BOUND
from glow.glow_dialects.vta import VtaConfig
from glow.quantization.options import Quantization
from glow.runtime.interpreter import interpret
from glow.runtime.memory_plan import function_bytes
from glow.runtime.signature import main_function
from glow.runtime.vta.backend import VtaBackend
from glow.runtime.vta.executable import VtaExecutable
from PIL import Image
from xdsl.dialects.builtin import ModuleOp

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"


def compiled(graph: ModuleOp, **options: object) -> tuple[glow.CompiledModel, VtaExecutable]:
    model = glow.compile(graph, backend=VtaBackend(**options), cache=False)  # pyright: ignore
    assert isinstance(model._program, VtaExecutable)
    return model, model._program


def test_resnet18_is_computed_exactly_also_in_a_random_order(rng: np.random.Generator):
    seed = int(rng.integers(2**32))
    rng = np.random.default_rng(seed)
    size = 41
    images = [rng.standard_normal((1, 3, size, size)).astype(np.float32) for _ in range(2)]
    graph = quantized(resnet18(rng, size, width=16), images)
    model, program = compiled(graph)
    (found,) = model(images[0])
    (wanted,) = interpret(model.stages["integers"], images[:1]).values()
    np.testing.assert_array_equal(found, wanted, err_msg=f"seed {seed}")
    (real,) = interpret(graph, images[:1]).values()
    # half a step up instead of to even, now and then, in each of 20 layers
    assert np.corrcoef(found.ravel(), real.ravel())[0, 1] > 0.99
    stored = program._borders.inputs(images[:1])
    for array, other in zip(
        program.simulator.run(stored), program.simulator.run(stored, shuffle=seed), strict=True
    ):
        np.testing.assert_array_equal(array, other)
    least = function_bytes(main_function(model.stages["program"]), ARENA_LOWER_BOUND)
    assert program.program.scratch_bytes == least
    names = [row.name for row in rows(program.program)]
    assert len(names) == 21
    assert names[-2:] == ["logits", "all"]


@pytest.mark.slow
def test_resnet18_at_full_size_keeps_the_gemm_core_busy(rng: np.random.Generator):
    images = [rng.standard_normal((1, 3, 224, 224)).astype(np.float32) for _ in range(2)]
    model, program = compiled(quantized(resnet18(rng), images))
    (found,) = model(images[0])
    (wanted,) = interpret(model.stages["integers"], images[:1]).values()
    np.testing.assert_array_equal(found, wanted)
    blocks = [row for row in rows(program.program) if row.name.startswith("block")]
    assert len(blocks) == 16
    for row in blocks:
        assert row.use >= 0.6, row
        assert row.traffic <= 1.5, row


def digits() -> tuple[list[np.ndarray], list[int]]:
    images, labels = [], []
    for path in sorted((DIGITS / "images").glob("*.png")):
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("L"), np.float32)
        images.append(pixels[None, None] / 255)
        labels.append(int(path.stem[-1]))
    return images, labels


@pytest.mark.parametrize("block", [16, 8])
def test_the_digits_are_recognised(block: int):
    images, labels = digits()
    graph = quantization.optimized_graph(DIGITS / "digits.onnx")
    profile = quantization.profile(
        DIGITS / "digits.onnx", [{"image": image} for image in images], cache=False
    )
    options = Quantization(schema="power_of_two", weight_schema="power_of_two", everything=True)
    quantization.quantize(graph, profile, options, "interpreter")
    # a softmax is not for VTA: the largest of its operands is that of its result
    main = main_function(graph)
    (softmax,) = (op for op in main.body.block.ops if isinstance(op, SoftmaxOp))
    last = main.body.block.last_op
    assert last is not None
    last.operands[0] = softmax.input
    config = VtaConfig(block_in=block, block_out=block)
    model, _ = compiled(graph, config=config)
    right = 0
    for image, label in zip(images, labels, strict=True):
        (found,) = model(image)
        (wanted,) = interpret(model.stages["integers"], [image]).values()
        np.testing.assert_array_equal(found, wanted)
        right += int(found.argmax()) == label
    assert right >= len(labels) - 1
