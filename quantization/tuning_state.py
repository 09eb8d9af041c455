"""
The trials of a tuning as a file, so that tuning can be continued.

```
{"format": "glow-tuning", "version": 1, "of": {"graph": "1f...", ...},
 "trials": [{"choices": {"conv1": "float"}, "loss": 0.01, "error": 0.001, "cost": 0.002}, ...]}
```

`of` tells what was tuned: a state of another network, profile, data or metric is refused.
`choices` has the products that are not quantized as usual.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..errors import QuantizationError
from ..whole_file import write_whole

FORMAT = "glow-tuning"
VERSION = 1


@dataclass(frozen=True)
class Trial:
    """A choice of storages for all products, and its results."""

    choices: Mapping[str, str]
    """`float` or a storage, by product; others are quantized as usual."""
    loss: float
    """The loss by the metric."""
    error: float
    """Noise over signal of the outputs, which decides between equal losses."""
    cost: float
    """Seconds of a run."""


@dataclass
class TuningState:
    """All trials so far."""

    of: dict[str, str]
    """The subject of the tuning: digests and names by what they describe."""
    path: Path | None = None
    """The file, which is written after every trial; None for none."""
    trials: dict[frozenset[tuple[str, str]], Trial] = field(default_factory=dict)

    def find(self, choices: Mapping[str, str]) -> Trial | None:
        return self.trials.get(frozenset(choices.items()))

    def add(self, trial: Trial) -> None:
        """Keeps a trial. Raises OSError if the file cannot be written."""
        self.trials[frozenset(trial.choices.items())] = trial
        if self.path is None:
            return
        document = {
            "format": FORMAT,
            "version": VERSION,
            "of": self.of,
            "trials": [asdict(t) for t in self.trials.values()],
        }
        # whoever stops the process must find either the old or the new state
        write_whole(self.path, (json.dumps(document) + "\n").encode())

    def load(self) -> None:
        """
        Takes over the trials of the file. Raises QuantizationError if it is damaged, or belongs to
        another tuning; the error names the difference.
        """
        assert self.path is not None
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            if document["format"] != FORMAT or document["version"] != VERSION:
                raise ValueError("another format")
            of = dict(document["of"])
            trials = [Trial(**t) for t in document["trials"]]
            found = {frozenset(dict(t.choices).items()): t for t in trials}
        except OSError as error:
            raise QuantizationError(f"{self.path}: cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise QuantizationError(f"{self.path}: is no state of tuning: {error}") from None
        if different := [name for name in self.of if of.get(name) != self.of[name]]:
            raise QuantizationError(
                f"{self.path}: is the state of another tuning: different {', '.join(different)}; "
                "start without --resume, or with another --state"
            )
        self.trials = found
