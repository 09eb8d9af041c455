"""Memory of other packages, by DLPack."""

from __future__ import annotations

from typing import Any

import glow
import ml_dtypes
import numpy as np
import pytest
from glow.context import make_context
from glow.interface.dlpack import element_type, from_dlpack
from xdsl.parser import Parser

SUM = """
func.func @main(%x: tensor<2x3xbf16> {glow.name = "x"}) -> (tensor<2x3xbf16> {glow.name = "y"}) {
  %y = glow.add %x, %x : (tensor<2x3xbf16>, tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %y : tensor<2x3xbf16>
}
"""
BFLOAT = 4


class Exported:
    """An array whose elements are exported as another type, as packages of tensors do."""

    def __init__(self, array: np.ndarray, code: int, bits: int):
        self.array, self.type = array, (code, bits)

    def __dlpack__(self, **options: Any) -> object:
        capsule = self.array.__dlpack__(**options)
        element_type(capsule)[:] = self.type
        return capsule

    def __dlpack_device__(self) -> object:
        return self.array.__dlpack_device__()


def exported(array: np.ndarray) -> Exported:
    return Exported(array.view(np.uint16), BFLOAT, 16)


def test_bfloat16_is_not_copied(rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 5)).astype(ml_dtypes.bfloat16)
    for part in (x, x[::2, 1:], x[:0]):
        found = from_dlpack(exported(part))
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, part)
        assert found.strides == part.strides or not part.size
        assert np.shares_memory(found, x) or not part.size


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_inputs_and_outputs_of_bfloat16(backend: str, rng: np.random.Generator) -> None:
    model = glow.compile(Parser(make_context(), SUM).parse_module(), backend=backend)
    x, y = (rng.standard_normal((2, 3)).astype(ml_dtypes.bfloat16) for _ in range(2))
    wanted = np.add(x, x)
    (found,) = model(exported(x))
    np.testing.assert_array_equal(found, wanted)
    model.run_into([exported(y)], {"x": exported(x)})
    np.testing.assert_array_equal(y, wanted)


def test_types_that_numpy_lacks() -> None:
    with pytest.raises(RuntimeError, match="Unsupported dtype"):
        from_dlpack(Exported(np.zeros(3, np.uint8), 10, 8))
    model = glow.compile(Parser(make_context(), SUM).parse_module(), backend="interpreter")
    with pytest.raises(glow.GlowError, match=r"input 'x': expected .* found no array: Unsupported"):
        model(Exported(np.zeros((2, 3), np.uint8), 10, 8))


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([[0.5, -2.0], [3.0, 4.25]], dtype=torch.bfloat16)
    found = from_dlpack(tensor.t())
    np.testing.assert_array_equal(found.astype(np.float32), tensor.t().float().numpy())
    found[0, 1] = 7
    assert tensor[1, 0].item() == 7
