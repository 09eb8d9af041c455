"""The results of an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Report:
    """The results of an epoch."""

    epoch: int
    """The number of epochs that are done."""
    step: int
    """The number of steps that are done."""
    loss: float
    """The mean loss of the batches of the epoch, each before its step."""
    rate: float
    """The learning rate of the last step."""
    seconds: float
    validation: Mapping[str, float] = field(default_factory=dict)
    """The loss and the metrics of the validation data."""
