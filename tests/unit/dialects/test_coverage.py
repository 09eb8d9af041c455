"""Every operation has a round-trip test."""

from __future__ import annotations

from pathlib import Path

import pytest
from glow.glow_dialects.glow import GLOW
from glow.glow_dialects.glow_cpu import GLOW_CPU
from glow.glow_dialects.glow_inst import GLOW_INST
from xdsl.ir import Dialect


@pytest.mark.parametrize("dialect", [GLOW, GLOW_CPU, GLOW_INST], ids=lambda d: d.name)
def test_every_operation_is_in_a_lit_test(dialect: Dialect, repository: Path):
    folder = repository / "tests" / "lit" / dialect.name
    text = " ".join(p.read_text() for p in folder.glob("*.mlir") if p.stem != "invalid")
    missing = [op.name for op in dialect.operations if f"{op.name} " not in text]
    assert not missing
