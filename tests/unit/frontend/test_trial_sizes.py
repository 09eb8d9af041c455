"""The sizes of symbols that a model is imported for to find out which symbols its outputs have."""

from __future__ import annotations

import pytest
from glow.interface.output_symbols import trial_sizes
from glow.interface.symbols import SizeRange


@pytest.mark.parametrize(
    ("ranges", "fewest"),
    [
        ({}, 4),
        ({"batch": SizeRange(1, 5), "sequence": SizeRange(1, 5)}, 4),
        ({"batch": SizeRange(3, 4), "sequence": SizeRange(3, 6)}, 4),
        ({"batch": SizeRange(2, 3), "sequence": SizeRange(2, 3)}, 2),
        ({"batch": SizeRange(7, 7)}, 3),
    ],
)
def test_sizes_differ_where_ranges_permit(ranges: dict[str, SizeRange], fewest: int):
    for trials in trial_sizes(["batch", "sequence"], ranges):
        for name, size in (item for trial in trials for item in trial.items()):
            if name in ranges:
                ranges[name].expect(name, size)
        assert len({size for trial in trials for size in trial.values()}) >= fewest
