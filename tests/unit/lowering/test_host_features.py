"""Tile registers are used where the processor has them and the system permits it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from glow.errors import CompileError
from glow.lowering import host_machine
from glow.lowering.target import find_target, host_target
from llvmlite import binding

ASK = """
from glow.lowering.host_machine import host_features, request_tiles
has = host_features().get("amx-tile", False)
assert not has or request_tiles()
print(has)
"""


@pytest.mark.parametrize(
    ("cpu", "features", "tiles"),
    [
        ("sapphirerapids", None, True),
        ("graniterapids", None, True),
        ("sapphirerapids", "-amx-int8", False),
        ("sapphirerapids", "-amx-tile", False),
        ("icelake-server", None, False),
        ("icelake-server", "+amx-tile,+amx-int8", True),
        ("haswell", None, False),
        ("znver4", None, False),
        ("cortex-a76", None, False),
    ],
)
def test_machines_with_tiles(cpu: str, features: str | None, tiles: bool):
    if host_target().architecture != "x86_64":
        pytest.skip("finds x86 CPUs first")
    machine = find_target(cpu, features).describe()
    assert machine.has_int8_tiles == tiles
    assert ("has-int8-tiles=true" in machine.pass_options()) == tiles


def test_features_without_permission(monkeypatch: pytest.MonkeyPatch):
    detected = {"sse2": True, "amx-tile": True, "amx-int8": True, "amx-bf16": True}
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: dict(detected))
    monkeypatch.setattr(host_machine, "request_tiles", lambda: False)
    found = host_machine.host_features.__wrapped__()
    assert found == {"sse2": True, "amx-tile": False, "amx-int8": False, "amx-bf16": False}
    assert host_machine.flattened(found) == "-amx-bf16,-amx-int8,-amx-tile,+sse2"
    monkeypatch.setattr(host_machine, "request_tiles", lambda: True)
    assert host_machine.host_features.__wrapped__() == detected


def test_other_systems_have_no_tiles(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not host_machine.request_tiles.__wrapped__()


def test_a_program_with_tiles_needs_a_machine_with_tiles(monkeypatch: pytest.MonkeyPatch):
    host = host_target()
    if host.architecture != "x86_64":
        pytest.skip("needs an x86 host")
    target = find_target("x86-64", "+amx-tile,+amx-int8")
    if host.describe().has_int8_tiles:
        target.expect_host_runs_it()
        return
    with pytest.raises(CompileError, match=r"lacks amx-int8.*-amx-int8"):
        target.expect_host_runs_it()


def test_a_fresh_process_asks():
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == str(bool(host_machine.host_features().get("amx-tile")))
