"""Triangles over the frequencies of a spectrum, equally wide on the mel scale."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....errors import ModelError
from ..element_types import element_of_onnx
from ..node import OnnxNode, converter

_MEL = 2595 / np.log(10)
_HERTZ = 700


@converter("MelWeightMatrix")
def mel_weights(node: OnnxNode) -> SSAValue:
    """
    Returns a matrix [dft_length // 2 + 1, num_mel_bins] as a constant. Each column rises from 0 to
    1 between two edges and falls to 0 at the next one.
    """
    bins, length, rate = (int(node.known_number(i)) for i in range(3))
    low, high = (float(node.known_number(i)) for i in (3, 4))
    if bins < 0 or length < 0 or rate <= 0:
        raise ModelError(
            f"expected a positive sample rate and no negative sizes, found {bins} bins, length "
            f"{length} and rate {rate}"
        )
    mels = _MEL * np.log1p(np.array([low, high]) / _HERTZ)
    steps = mels[0] + np.arange(bins + 2) * (mels[1] - mels[0]) / (bins + 2)
    edges = (length + 1) * _HERTZ * np.expm1(steps / _MEL) // rate
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    frequency = np.arange(length // 2 + 1)[:, None]
    rising = (frequency - left) / np.maximum(centre - left, 1)
    falling = (right - frequency) / np.maximum(right - centre, 1)
    inside = (left <= frequency) & (frequency < np.maximum(right, centre + 1))
    triangle = np.where(frequency < centre, rising, np.where(frequency > centre, falling, 1))
    weights = np.where(inside, triangle, 0)
    code = node.attr("output_datatype")
    element = f32 if code is None else element_of_onnx(code, "the result")
    return node.build.cast(node.build.constant(weights), element)
