"""Convolutions without the products of their padding give the same results."""

from __future__ import annotations

from collections.abc import Sequence

import glow
import numpy as np
import pytest
from glow import nn
from glow.context import make_context
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow_inst.instruction import buffer_of
from glow.glow_dialects.operator import shape_of
from glow.passes.graph.skip_padding import SkipPaddingPass
from glow.runtime.interpreter import interpret
from glow.runtime.signature import main_function
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

SIZES = st.integers(1, 40)
OUTPUTS = 64


def network(shape: Sequence[int], kernel: Sequence[int], group: int = 1, **rest: list[int]):
    """Returns a convolution whose filter and bias are inputs, too."""

    def convolution(x: nn.Tensor, w: nn.Tensor, b: nn.Tensor) -> nn.Tensor:
        return x.graph.node(ConvolutionOp, x, w, b, group=group, **rest)

    w = (OUTPUTS, shape[1] // group, *kernel)
    return nn.build(convolution, {"x": tuple(shape), "w": w, "b": (OUTPUTS,)})


def convolutions(module: ModuleOp) -> list[ConvolutionOp]:
    return [op for op in module.walk() if isinstance(op, ConvolutionOp)]


def products(module: ModuleOp) -> int:
    """Returns the number of products of all convolutions."""
    return sum(
        int(np.prod(shape_of(c.result.type)) * np.prod(shape_of(c.filter.type)[1:]))
        for c in convolutions(module)
    )


def inputs(module: ModuleOp, rng: np.random.Generator) -> dict[str, np.ndarray]:
    types = main_function(module).function_type.inputs
    return {
        name: rng.standard_normal(shape_of(t), dtype=np.float32)
        for name, t in zip("xwb", types, strict=True)
    }


def check(module: ModuleOp, rng: np.random.Generator) -> ModuleOp:
    """Returns the module after the pass, with which it computes the same."""
    arrays = inputs(module, rng)
    want = interpret(module, arrays)
    SkipPaddingPass().apply(make_context(), module)
    module.verify()
    have = interpret(module, arrays)
    for a, b in zip(want.values(), have.values(), strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-5 * max(1.0, float(np.abs(a).max())))
    return module


@given(
    *(SIZES, st.integers(1, 5), st.integers(1, 3), st.integers(1, 24)),
    *(st.integers(0, 30), st.integers(0, 30), st.integers(0, 2**32)),
)
def test_any_geometry(
    size: int, kernel: int, stride: int, dilation: int, low: int, high: int, seed: int
):
    if size + low + high < dilation * (kernel - 1) + 1:
        return
    module = network(
        *((2, 3, size), (kernel,)), pads=[low, high], strides=[stride], dilations=[dilation]
    )
    check(module, np.random.default_rng(seed))


@pytest.mark.parametrize(("dilation", "parts"), [(12, 9), (24, 1), (1, 1)])
@pytest.mark.parametrize("group", [1, 2])
def test_images(dilation: int, parts: int, group: int, rng: np.random.Generator):
    """Convolutions of an image of 14 x 13 become parts, one of 1 x 1, or stay as they are."""
    sizes = {"pads": [dilation] * 4, "dilations": [dilation] * 2}
    module = network((1, 4, 14, 13), (3, 3), group, strides=[1, 1], **sizes)
    before = products(module)
    after = check(module, rng)
    assert len(convolutions(after)) == parts
    if dilation > 1:
        assert products(after) < before / 4


def test_compiled(rng: np.random.Generator):
    """The parts of a convolution are places of its result, so that nothing copies them."""
    module = network((1, 5, 100), (3,), pads=[90, 90], strides=[1], dilations=[90])
    arrays = inputs(module, rng)
    (want,) = interpret(module, arrays).values()
    model = glow.compile(module, cache=False)
    np.testing.assert_allclose(model.run(None, arrays)[0], want, rtol=0, atol=1e-4)
    assert len(convolutions(model.stages["lowered"])) == 3
    # a filter may be copied where the products are those of patches
    copies = [op for op in model.stages["allocated"].walk() if op.name == "glow_inst.copy"]
    result = main_function(model.stages["allocated"]).body.block.args[-1]
    assert result not in [buffer_of(op.operands[0]) for op in copies]
    writers = {use.operation.name for use in result.uses}
    assert writers == {"glow_inst.tensor_view"}
