"""The stated error of the logistic function, which is compiled as `1 / (1 + exp(-x))`."""

from __future__ import annotations

import glow
import numpy as np

COUNT = 40009
NETWORK = f"""
!t = tensor<{COUNT}xf32>
func.func @main(%x: !t {{glow.name = "x"}}) -> (!t {{glow.name = "y"}}) {{
  %y = glow.sigmoid %x : (!t) -> !t
  func.return %y : !t
}}"""


def test_error_over_all_floats(tmp_path, rng: np.random.Generator):
    """2.5 units in the last place; where the result is no normal number, less than the least."""
    path = tmp_path / "logistic.mlir"
    path.write_text(NETWORK)
    model = glow.compile(path, cache=False)
    x = rng.integers(0, 1 << 32, COUNT, np.uint32).view(np.float32)
    x[::2] = rng.uniform(-90, 90, x[::2].size)
    x[:5] = 0.0, -0.0, np.inf, -np.inf, np.nan
    (y,) = model(x)
    assert np.array_equal(np.isnan(x), np.isnan(y))
    assert (y[0], y[1], y[2], y[3]) == (0.5, 0.5, 1.0, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = 1 / (1 + np.exp(-x.astype(np.float64)))
    least = np.finfo(np.float32).tiny
    normal = wanted >= least
    units = np.abs(y - wanted) / np.spacing(wanted.astype(np.float32))
    assert normal.sum() > COUNT // 2
    assert units[normal].max() <= 2.5
    assert np.abs(y - wanted)[wanted < least].max() < least
