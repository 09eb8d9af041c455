"""The example that trains a network on digits, as a module."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[3] / "examples" / "digits"


def digits_example() -> ModuleType:
    """Returns the program of the example, imported; it needs scikit-learn."""
    spec = importlib.util.spec_from_file_location("train_digits", FOLDER / "train.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example
