"""
Profiles: the histogram of every value of a network over some data, as a file.

The file is JSON:

```
{"format": "glow-profile", "version": 1, "model": "digits", "samples": 100,
 "values": [{"name": "conv0", "operator": "glow.convolution",
             "key": "0f...", "local_key": "1c...",          # passes/graph/value_keys.py
             "min": -1.5, "max": 2.0, "sum": 12.0,          # of finite numbers, else null
             "nan": 0, "infinite": 0,                       # how many
             "counts": [0, 3, ...]}, ...]}                  # bins of equal width from min to max
```

Readers ignore fields that they do not know; `operator`, `sum`, `nan`, `infinite`, `model` and
`samples` may be missing. A change that older readers cannot read gets a new version.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ..errors import QuantizationError
from ..passes.graph.value_keys import ValueKey, profiled_values
from ..runtime.signature import main_function
from ..wording import counted
from .histogram import Histogram

FORMAT = "glow-profile"
VERSION = 1
LEAST_MATCH = 0.1
"""A profile that knows a smaller share of a network's values belongs to another network."""
_LISTED = 10


@dataclass
class ValueProfile:
    """A value, and the statistics of its numbers."""

    key: ValueKey
    histogram: Histogram


@dataclass
class Match:
    """The match of a profile with a graph."""

    histograms: dict[SSAValue, Histogram]
    """The histograms of the values that the profile knows."""
    names: dict[SSAValue, str]
    """The names, in this graph, of all values that could have been profiled."""
    missing: list[str] = field(default_factory=list)
    """Names of values of the graph that the profile does not know."""
    unused: list[str] = field(default_factory=list)
    """Names of values of the profile that the graph does not have."""

    def report(self) -> str:
        """Returns the names that did not match, in one line; "" if everything did."""
        parts = [
            f"{title}: {_listed(names)}"
            for title, names in (
                ("values that the profile does not know", self.missing),
                ("values that only the profile knows", self.unused),
            )
            if names
        ]
        return "; ".join(parts)


@dataclass
class Profile:
    """Histograms of the values of one network, by name."""

    values: dict[str, ValueProfile]
    samples: int = 0
    """The number of inputs that were profiled."""
    model: str = ""
    """The name of the model."""

    def save(self, path: str | Path) -> None:
        """Writes the profile as JSON. Raises OSError."""
        document = {
            "format": FORMAT,
            "version": VERSION,
            "model": self.model,
            "samples": self.samples,
            "values": [_to_json(v) for v in self.values.values()],
        }
        Path(path).write_text(json.dumps(document, allow_nan=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Profile:
        """
        Reads a profile. Raises QuantizationError, naming file and value, if it is not one,
        is damaged, or of a newer version.
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise QuantizationError(f"{path}: cannot be read: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise QuantizationError(f"{path}: is not a profile: not JSON: {error}") from None
        try:
            return _from_json(document)
        except QuantizationError as error:
            raise QuantizationError(f"{path}: {error}") from None

    def merge(self, *others: Profile) -> Profile:
        """
        Returns the profile of all data together. Values that only some of the profiles have are
        kept.

        Raises QuantizationError, with names, if values of the same name are computed differently,
        or if two profiles have nothing in common: profiles of different networks.
        """
        merged = dict(self.values)
        for other in others:
            common = [n for n in other.values if n in merged]
            different = [n for n in common if merged[n].key != other.values[n].key]
            if different:
                raise QuantizationError(
                    f"profiles of different networks: values that are computed differently: "
                    f"{_listed(different)}"
                )
            if other.values and merged and not common:
                raise QuantizationError("profiles of different networks: no value is in both")
            for name, value in other.values.items():
                known = merged.get(name)
                histogram = value.histogram
                if known is not None:
                    histogram = known.histogram.merged(histogram)
                merged[name] = ValueProfile(value.key, histogram)
        samples = self.samples + sum(o.samples for o in others)
        return Profile(merged, samples, self.model)

    def match(self, module: ModuleOp) -> Match:
        """
        Finds the values of a graph (the function @main) in the profile.

        A value is found by its name and its key; else by its key, if graph and profile have equally
        many values of that key (they were renamed); else by its name and its local key (something
        before it changed). Raises QuantizationError if fewer than a tenth of the graph's values are
        found: then the profile is of another model, or of one that was optimised differently.
        """
        wanted = profiled_values(main_function(module))
        free = dict(self.values)
        found: dict[SSAValue, ValueProfile] = {}
        for step in (_by_name_and_key, _by_key, _by_name_and_local_key):
            rest = {v: k for v, k in wanted.items() if v not in found}
            for value, name in step(rest, free).items():
                found[value] = free.pop(name)
        if wanted and len(found) < LEAST_MATCH * len(wanted):
            of = f" of {self.model!r}" if self.model else ""
            raise QuantizationError(
                f"the profile{of} is of another model: it knows {len(found)} of the "
                f"{counted(len(wanted), 'value')} of this one, "
                f"and not {_listed(_names(wanted, found))}; "
                "make a profile of this model with glow-profile"
            )
        return Match(
            {v: found[v].histogram for v in wanted if v in found},
            {v: k.name for v, k in wanted.items()},
            _names(wanted, found),
            list(free),
        )


def _names(wanted: Mapping[SSAValue, ValueKey], found: Mapping[SSAValue, object]) -> list[str]:
    return [k.name for v, k in wanted.items() if v not in found]


def _by_name_and_key(
    wanted: Mapping[SSAValue, ValueKey], free: Mapping[str, ValueProfile]
) -> dict[SSAValue, str]:
    return {
        v: k.name for v, k in wanted.items() if k.name in free and free[k.name].key.key == k.key
    }


def _by_key(
    wanted: Mapping[SSAValue, ValueKey], free: Mapping[str, ValueProfile]
) -> dict[SSAValue, str]:
    here: dict[str, list[SSAValue]] = defaultdict(list)
    there: dict[str, list[str]] = defaultdict(list)
    for value, key in wanted.items():
        here[key.key].append(value)
    for name, known in free.items():
        there[known.key.key].append(name)
    return {
        value: name
        for key, values in here.items()
        if len(values) == len(there.get(key, ()))
        for value, name in zip(values, there[key], strict=True)
    }


def _by_name_and_local_key(
    wanted: Mapping[SSAValue, ValueKey], free: Mapping[str, ValueProfile]
) -> dict[SSAValue, str]:
    return {
        v: k.name
        for v, k in wanted.items()
        if k.name in free and free[k.name].key.local_key == k.local_key
    }


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _to_json(value: ValueProfile) -> dict[str, Any]:
    key, h = value.key, value.histogram
    seen = h.low <= h.high
    return {
        "name": key.name,
        "operator": key.operator,
        "key": key.key,
        "local_key": key.local_key,
        "min": h.low if seen else None,
        "max": h.high if seen else None,
        "sum": h.total if math.isfinite(h.total) else None,
        "nan": h.nans,
        "infinite": h.infinities,
        "counts": h.counts.tolist(),
    }


def _from_json(document: object) -> Profile:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise QuantizationError(f'is not a profile: expected an object of format "{FORMAT}"')
    version = document.get("version")
    if not isinstance(version, int) or version < 1:
        raise QuantizationError(f"expected a version number, found {version!r}")
    if version > VERSION:
        raise QuantizationError(
            f"has version {version}, made by a newer compiler; this one reads up to {VERSION}"
        )
    values = document.get("values")
    if not isinstance(values, list):
        raise QuantizationError(f"expected a list of values, found {type(values).__name__}")
    found: dict[str, ValueProfile] = {}
    for number, entry in enumerate(values):
        name = entry.get("name") if isinstance(entry, dict) else None
        where = f"value {name!r}" if isinstance(name, str) else f"value number {number}"
        try:
            value = _value(entry)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise QuantizationError(f"{where}: {_reason(error)}") from None
        if value.key.name in found:
            raise QuantizationError(f"{where} is there twice")
        found[value.key.name] = value
    samples = document.get("samples", 0)
    return Profile(
        found, samples if isinstance(samples, int) else 0, str(document.get("model", ""))
    )


def _value(entry: dict[str, Any]) -> ValueProfile:
    low, high, total = entry["min"], entry["max"], entry.get("sum")
    counts = np.asarray(entry["counts"])
    if counts.ndim != 1 or len(counts) < 2 or counts.dtype.kind != "i" or (counts < 0).any():
        raise ValueError("expected counts of at least 2 bins, whole numbers of at least 0")
    h = Histogram(
        counts.astype(np.int64),
        np.inf if low is None else float(low),
        -np.inf if high is None else float(high),
        np.inf if total is None else float(total),
        int(entry.get("nan", 0)),
        int(entry.get("infinite", 0)),
    )
    none = low is None and high is None and not h.count
    if not none and not -np.inf < h.low <= h.high < np.inf:
        raise ValueError(f"expected a range of finite numbers, found {low} to {high}")
    names = [entry["name"], entry.get("operator", ""), entry["key"], entry["local_key"]]
    if not all(isinstance(n, str) for n in names):
        raise ValueError("expected name, operator, key and local_key to be strings")
    return ValueProfile(ValueKey(*names), h)


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"the field {error} is missing"
    return str(error)
