"""
Three operators that no standard has, each stated as one formula.

    python examples/generic/operators.py

- `bag_of_words`: the sum of the embeddings of some words. The embeddings are not stored in between,
  as they are by a gather and a sum.
- `banded_product`: a matrix that is zero beyond a few diagonals, stored as these, times a matrix.
- `local_attention`: attention in which each place sees only its neighbours, so that the work grows
  with the length of a text, not with its square (Beltagy et al. 2020, "Longformer").

The program compiles each, compares it with numpy, and prints how far they are apart. The language
is described in docs/formulas.md.
"""

from __future__ import annotations

import glow
import numpy as np
from glow.definitions import Operator
from glow.glow_dialects.operator import with_shape
from glow.semantics import element_type

bag_of_words = glow.define(
    "bag_of_words",
    "y[b, d] = sum(t) table[clamp(words[b, t], 0, size(table, 0) - 1), d]",
)

banded_product = glow.define(
    "banded_product",
    """
    y[i, c] = sum(t) band[i, t] * x[i + t - size(band, 1) // 2, c | outside: 0]
    """,
)

local_attention = glow.define(
    "local_attention",
    """
    y[h, i, d] = (sum(t) power[h, i, t] * v[h, i + t - radius, d | outside: 0]) / total[h, i]
    where score[h, i, t] =
              scale * (sum(d) q[h, i, d] * k[h, i + t - radius, d | outside: 0])
              if i + t >= radius and i + t - radius < size(k, 1) else -inf
              for t < 2 * radius + 1;
          power[h, i, t] = exp(score[h, i, t] - (max(s) score[h, i, s]));
          total[h, i] = sum(t) power[h, i, t]
    """,
    constants={"radius": 16, "scale": 0.125},
)


def by_hand(operator: Operator, *arrays: np.ndarray) -> np.ndarray:
    """Returns the operators above in numpy."""
    if operator is bag_of_words:
        table, words = arrays
        return table[np.clip(words, 0, len(table) - 1)].sum(axis=1)
    if operator is banded_product:
        band, x = arrays
        rows, width = band.shape
        dense = np.zeros((rows, rows + width), band.dtype)
        for t in range(width):
            dense[np.arange(rows), np.arange(rows) + t] = band[:, t]
        first = width // 2
        return dense[:, first : first + rows] @ x
    v, q, k = arrays
    places = np.arange(q.shape[1])
    near = abs(places[:, None] - places) <= operator.constants["radius"]
    scores = np.where(near, 0.125 * (q @ k.swapaxes(1, 2)), -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ v


def arguments(operator: Operator, rng: np.random.Generator) -> list[np.ndarray]:
    """Returns arrays of a size for a quick computation."""
    if operator is bag_of_words:
        return [rng.standard_normal((1000, 64), np.float32), rng.integers(0, 1000, (32, 20))]
    if operator is banded_product:
        return [rng.standard_normal(s, np.float32) for s in ((300, 7), (300, 48))]
    return [rng.standard_normal((2, 100, 64), np.float32) for _ in range(3)]


def main() -> None:
    rng = np.random.default_rng(1)
    for operator in (bag_of_words, banded_product, local_attention):
        given = arguments(operator, rng)
        types = [with_shape(element_type(a.dtype), a.shape) for a in given]
        model = glow.compile(operator.graph(*types))
        (found,) = model(*given)
        wanted = by_hand(operator, *given)
        print(f"{operator.name}: {found.shape}, largest difference {abs(found - wanted).max():.1e}")
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    main()
