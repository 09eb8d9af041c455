"""The sources of devices: options of `glow-partition`, and configuration files."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from glow.errors import GlowError
from glow.interface.backend import Rates
from glow.passes.partition.devices import (
    LATENCY,
    configuration_of,
    read_configuration,
)
from glow.passes.partition.partitions import read_partitions
from glow.tests.support.graph_text import parse, run

CHAIN = """
    func.func @main(%x: tensor<500xf32>) -> tensor<500xf32> {
      %a = glow.neg %x : (tensor<500xf32>) -> tensor<500xf32>
      %b = glow.exp %a : (tensor<500xf32>) -> tensor<500xf32>
      func.return %b : tensor<500xf32>
    }"""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("devices=abacus", "no backend is called 'abacus'; installed: "),
        ("devices=interpreter strategy=best", "strategy to be one of capability, memory, time"),
        ("devices=interpreter,interpreter memory=1,2,3", "or of 2, found 3 numbers"),
        ('devices=interpreter place="z=interpreter"', "cannot place z: no node has a result"),
        ("devices=interpreter place=y", "like \"name=device\", found 'y'"),
        ('config="no/such.toml"', "cannot read no/such.toml: No such file or directory"),
    ],
)
def test_wrong_options_are_errors(options: str, message: str) -> None:
    with pytest.raises(GlowError) as found:
        run(f"glow-partition{{{options}}}", parse(CHAIN))
    assert message in str(found.value)


TOML = """
    [[devices]]
    name = "a"
    backend = "interpreter"
    memory = 5_000
    rates = { operations = 1e9, bytes = 2e9 }

    [[devices]]
    name = "b"
    backend = "cpu"
    options = { threads = 2 }

    [[links]]
    between = ["a", "b"]
    bandwidth = 1e8
    latency = 1e-4

    [[links]]
    between = ["host", "a"]

    [place]
    b = "b"
"""


def test_configuration_files(tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(TOML)
    (tmp_path / "d.json").write_text(json.dumps(tomllib.loads(TOML)))
    for name in ("d.toml", "d.json"):
        found = read_configuration(tmp_path / name)
        assert [d.name for d in found.devices] == ["a", "b"]
        assert [d.memory for d in found.devices] == [5000, None]
        assert found.devices[0].rates == Rates(1e9, 2e9)
        assert found.devices[1].backend.threads == 2  # pyright: ignore
        assert found.link("b", "a").seconds(10**8) == 1 + 1e-4
        assert found.link("a", "a").seconds(10**8) == 0
        assert found.link("host", "b").seconds(10**8) == 0
        assert found.link("host", "a").seconds(0) == LATENCY
        module = run(f'glow-partition{{config="{tmp_path / name}"}}', parse(CHAIN))
        described = configuration_of(module)
        assert described is not None
        assert described.links == found.links
        assert [d.rates for d in described.devices] == [Rates(1e9, 2e9), None]
        assert {"b"} <= {p.device for p in read_partitions(module).partitions}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("devices = 3", "unexpected devices of a configuration: 3"),
        ("device = []", "a configuration has no 'device'; it has devices, links, place"),
        ("", "expected at least one device"),
        ("x = ", "Invalid value"),
        ('[[devices]]\nname = "a"', "a device lacks backend"),
        ('[[devices]]\nname = "host"\nbackend = "cpu"', "cannot be called 'host'"),
        (
            '[[devices]]\nname = "a"\nbackend = "cpu"\noptions = {x = 1}',
            "device a: there is no option 'x'",
        ),
        ('[[devices]]\nname = "a"\nbackend = "cpu"\nmemory = -1', "expected bytes of memory"),
        ('[[devices]]\nname = "a"\nbackend = "cpu"\nmemory = true', "unexpected memory"),
        ('[[devices]]\nname = "a"\nbackend = "cpu"\nrates = {}', "operations and bytes per second"),
        ('[[devices]]\nname = "a"\nbackend = "cpu"\n' * 2, "different names, found a twice"),
        (f"{TOML}\nb2 = 3", "expected the name of a device in place, for b2"),
        (TOML.replace('"host"', '"c"'), "a link names c; the devices are a, b"),
        (TOML.replace('["a", "b"]', '["a"]'), "between two devices"),
        (TOML.replace("1e8", "0"), "expected a bandwidth above 0"),
    ],
)
def test_wrong_configurations_are_errors(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "devices.toml"
    path.write_text(text)
    with pytest.raises(GlowError) as found:
        read_configuration(path)
    assert str(path) in str(found.value)
    assert message in str(found.value)
