"""
Choices of quantization as a file, which `glow-tune-quantization` writes and `glow-run` reads.

```
{"format": "glow-quantization", "version": 1,
 "options": {"profile": "profile.json", "keep_float": ["conv1"], "storages": ["fc=i16"]}}
```

`options` are fields of `Quantization`; missing ones have their defaults. The path of the profile is
relative to the folder of the file. Readers ignore other fields of the object.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ..errors import QuantizationError
from .options import Quantization

FORMAT = "glow-quantization"
VERSION = 1


def save_choices(
    choices: Quantization, path: str | Path, more: Mapping[str, object] | None = None
) -> None:
    """Writes choices, with `more` fields of the object beside them. Raises OSError."""
    options: dict[str, object] = {
        f.name: value
        for f in fields(Quantization)
        if (value := getattr(choices, f.name)) != f.default
    }
    if choices.profile is not None:
        options["profile"] = os.path.relpath(choices.profile, Path(path).absolute().parent)
    document = {"format": FORMAT, "version": VERSION, "options": options, **(more or {})}
    Path(path).write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def load_choices(path: str | Path) -> Quantization:
    """
    Reads choices; or of a profile, the default choices with it.

    Raises QuantizationError, naming the file, if it is neither, or damaged.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise QuantizationError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise QuantizationError(
            f"{path}: expected a profile or choices, not JSON: {error}"
        ) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return Quantization(profile=str(path))  # reading the profile will report the error
    if document.get("version") != VERSION:
        raise QuantizationError(
            f"{path}: expected version {VERSION}, found {document.get('version')!r}"
        )
    try:
        choices = _choices(document.get("options"))
    except QuantizationError as error:
        raise QuantizationError(f"{path}: {error}") from None
    if choices.profile is None:
        return choices
    return replace(choices, profile=str(Path(path).absolute().parent / choices.profile))


def _choices(options: Any) -> Quantization:
    if not isinstance(options, dict):
        raise QuantizationError(f"expected an object of options, found {type(options).__name__}")
    known = [f.name for f in fields(Quantization)]
    given: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in options.items()
    }
    if unknown := [name for name in given if name not in known]:
        raise QuantizationError(f"unknown option {unknown[0]!r}; known: {', '.join(known)}")
    return Quantization(**given)
