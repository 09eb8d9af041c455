"""Code of a library leaves the memory of the process, and comes back when it is used."""

from __future__ import annotations

import sys
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.runtime.drop_clean_pages import drop_clean_pages
from glow.tests.support.seeds import numbered
from glow.tests.support.small_models import small_network

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@linux
def test_code_is_released_and_used_again():
    first = glow.compile(small_network(5), symbols={"batch": 1}, cache=False)
    x = numbered(5).standard_normal((1, 3, 8, 10)).astype(np.float32)
    want = first(x)
    assert drop_clean_pages("llvmlite") > 1 << 20
    again = glow.compile(small_network(5), symbols={"batch": 1}, cache=False)
    for found, expected in zip(again(x), want, strict=True):
        np.testing.assert_array_equal(found, expected)


@linux
def test_a_library_that_is_not_there():
    assert drop_clean_pages("no-such-library") == 0


def test_other_systems(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("glow.runtime.drop_clean_pages._MAPS", Path("/no/such/file"))
    assert drop_clean_pages("llvmlite") == 0
