"""Training: the trainer, optimizers, learning-rate schedules, data, callbacks."""

from __future__ import annotations

from .callbacks import EarlyStopping
from .data import Batches
from .optimizers import SGD, Adam, AdamW, Optimizer, constant, cosine, linear
from .processes import Processes
from .quantized import QuantizationAware
from .report import Report
from .trainer import Trainer

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Batches",
    "EarlyStopping",
    "Optimizer",
    "Processes",
    "QuantizationAware",
    "Report",
    "Trainer",
    "constant",
    "cosine",
    "linear",
]
