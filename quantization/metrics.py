"""
Measures of how much a network loses when it is quantized, from its outputs.

Each takes, for all samples, the outputs of the float network and those of the quantized one, and
gives a loss, 0 for none. `error` serves every network; the others those that classify.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ..errors import QuantizationError
from ..table import Table
from ..wording import counted

Outputs: TypeAlias = Sequence[Sequence[np.ndarray]]
"""The arrays of all outputs, for each batch."""
Metric: TypeAlias = Callable[[Outputs, Outputs, "np.ndarray | None"], float]
METRICS: Table[str, Metric] = Table("a metric")


def metric(name: str) -> Callable[[Metric], Metric]:
    """Registers a metric under its name in command lines."""
    return METRICS.entry(name)


@metric("error")
def error(reference: Outputs, found: Outputs, labels: np.ndarray | None) -> float:
    """
    Returns noise over signal: the mean squared error of an output over the mean square of the exact
    one, for the worst output; infinity if it is not a number. 0.001 is a ratio of signal to noise
    of 30 dB. Where data decide the size of an output, elements that one run does not have are 0.
    """
    worst = 0.0
    for number in range(len(reference[0])):
        signal = noise = 0.0
        for a, b in zip(reference, found, strict=True):
            exact, other = _of_one_shape(a[number], b[number])
            signal += float(np.square(exact).sum())
            noise += float(np.square(exact - other).sum())
        ratio = noise / signal if noise and signal else noise
        if noise and not (signal and math.isfinite(ratio)):
            return math.inf
        worst = max(worst, ratio)
    return worst


def _of_one_shape(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """Returns two arrays of one rank in f64, with zeros behind the one that is shorter."""
    shape = np.maximum(a.shape, b.shape)
    return [
        np.pad(x.astype(np.float64), [(0, n) for n in shape - x.shape])
        if x.ndim
        else x.astype(np.float64)
        for x in (a, b)
    ]


@metric("top1")
def top1(reference: Outputs, found: Outputs, labels: np.ndarray | None) -> float:
    """Returns the share of the samples whose class with the largest score is another one."""
    return float(np.mean(classes(reference) != _as_many(classes(found), reference)))


@metric("labels")
def labelled(reference: Outputs, found: Outputs, labels: np.ndarray | None) -> float:
    """
    Returns the accuracy that is lost: the decrease of the share of correctly classified samples, at
    least 0. Raises QuantizationError without labels, or if their number is not that of the samples.
    """
    exact, quantized = classes(reference), _as_many(classes(found), reference)
    if labels is None:
        raise QuantizationError("the metric labels needs the class of each sample")
    if len(labels) != len(exact):
        raise QuantizationError(
            f"expected a label for each of {counted(len(exact), 'sample')}, found {len(labels)}"
        )
    return max(0.0, float(np.mean(exact == labels) - np.mean(quantized == labels)))


def _as_many(found: np.ndarray, reference: Outputs) -> np.ndarray:
    """Returns classes. Raises QuantizationError unless the float network gives as many rows."""
    rows = sum(len(batch[0]) for batch in reference)
    if len(found) != rows:
        raise QuantizationError(
            f"the first output has {counted(rows, 'row')} in float and {len(found)} in integers, "
            "because data decide its size; use the metric error"
        )
    return found


def classes(outputs: Outputs) -> np.ndarray:
    """
    Returns the class with the largest score of the first output, for each sample. Raises
    QuantizationError if it has no scores for each sample.
    """
    first = [batch[0] for batch in outputs]
    if any(a.ndim < 2 or a.size == a.shape[0] for a in first):
        raise QuantizationError(
            f"the first output, of shape {first[0].shape}, has no scores of several classes for "
            "each sample; use the metric error"
        )
    return np.concatenate([a.reshape(len(a), -1).argmax(axis=1) for a in first])
