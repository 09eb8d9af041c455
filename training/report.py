"""The results of an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Report:
    """The results of an epoch."""

    epoch: int
    """How many epochs are done."""
    step: int
    """How many steps are done."""
    loss: float
    """The mean loss of the batches of the epoch, each before its step."""
    rate: float
    """The learning rate of the last step."""
    seconds: float
    validation: Mapping[str, float] = field(default_factory=dict)
    """The loss and the metrics of the validation data."""
