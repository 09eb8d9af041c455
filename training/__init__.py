"""Training: the trainer, optimizers, learning-rate schedules, data, callbacks."""

from __future__ import annotations

from .callbacks import EarlyStopping
from .data import Batches
from .optimizers import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop, constant, cosine, linear
from .processes import Processes
from .quantized import QuantizationAware
from .report import Report
from .trainer import Trainer

__all__ = [
    "SGD",
    "Adagrad",
    "Adam",
    "AdamW",
    "Batches",
    "EarlyStopping",
    "Optimizer",
    "Processes",
    "QuantizationAware",
    "RMSprop",
    "Report",
    "Trainer",
    "constant",
    "cosine",
    "linear",
]
