"""The description of a machine: its facts, their text, and what kernels are known by."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace

import pytest
from glow.context import make_context
from glow.glow_dialects.glow.machine import MachineAttr, machine_of
from glow.glow_dialects.glow_vec import dot_kind, dot_terms
from glow.glow_dialects.instruction_kinds import BYTE_DOTS, DotKind, LookupKind
from glow.glow_dialects.machine import DEFAULT_MACHINE, MachineDescription
from glow.glow_dialects.timings import TIMINGS
from glow.lowering.set_machine import SetMachinePass
from glow.runtime.stages import parse_pipeline
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, bf16, i8, i16
from xdsl.parser import Parser

SIZES = st.integers(1, 1 << 40)
MACHINES = st.builds(
    MachineDescription,
    st.sampled_from([64, 128, 256, 512, 1024]),
    st.integers(4, 64),
    st.booleans(),
    *[
        st.lists(st.sampled_from(known), unique=True).map(tuple)
        for known in (BYTE_DOTS, tuple(LookupKind))
    ],
    *[st.booleans()] * 3,
    *[SIZES] * 3,
)
U8 = IntegerType(8, Signedness.UNSIGNED)


@given(MACHINES)
def test_text_and_options_say_all_facts(machine: MachineDescription):
    attribute = MachineAttr(machine)
    assert Parser(make_context(), str(attribute)).parse_attribute() == attribute
    module = ModuleOp([])
    (single,) = parse_pipeline(f"glow-set-machine{{{machine.pass_options()}}}")
    single.apply(make_context(), module)
    assert machine_of(module) == machine


def test_every_fact_is_an_option():
    facts = [f.name for f in fields(MachineDescription)]
    options = [f.name for f in fields(SetMachinePass)]
    assert options == ["target_cpu", "target_features", "target_triple", *facts]


def test_a_module_that_does_not_say_it_has_the_default():
    assert machine_of(ModuleOp([])) == DEFAULT_MACHINE == MachineDescription()


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({"vector_bits": 256}, True),
        ({"has_fma": False}, True),
        ({"int8_dots": (DotKind.SDOT,)}, True),
        ({"byte_lookups": (LookupKind.TBL,)}, True),
        ({"has_int8_tiles": True}, True),
        ({"has_bf16_tiles": True}, True),
        ({"l1_bytes": 48 << 10}, True),
        ({"l2_bytes": 2 << 20}, True),
        ({"l3_bytes": 1 << 30}, True),
        # the types of operands say it
        ({"has_bf16_dot": True}, False),
    ],
)
def test_what_kernels_are_known_by(change: dict, counts: bool):
    changed = replace(DEFAULT_MACHINE, **change)
    assert (changed.kernel_identity() != DEFAULT_MACHINE.kernel_identity()) == counts


def test_what_another_machine_lacks():
    poor = MachineDescription(128, 16, False)
    rich = MachineDescription(int8_dots=(DotKind.VPDPBUSD,), has_bf16_tiles=True)
    assert rich.missing_on(poor) == ["fma", "bf16 tiles", "vpdpbusd"]
    assert poor.missing_on(rich) == []


def test_products_of_neighbours():
    x86 = MachineDescription(int8_dots=(DotKind.VPDPBUSD,))
    arm = MachineDescription(128, 32, int8_dots=(DotKind.SDOT, DotKind.USDOT))
    assert [dot_terms(x86, t) for t in (U8, i8, i16)] == [4, 2, 2]
    assert [dot_terms(arm, t) for t in (U8, i8, i16)] == [4, 4, 2]
    assert dot_terms(DEFAULT_MACHINE, U8) == 2
    assert dot_kind(x86, U8, i8, 4) == DotKind.VPDPBUSD
    assert dot_kind(x86, i8, i8, 4) is None
    assert dot_kind(arm, i8, i8, 4) == DotKind.SDOT
    assert dot_kind(x86, U8, i8, 3) is None
    assert dot_kind(x86, i16, i16, 2) == DotKind.MADD
    assert dot_kind(x86, bf16, bf16, 2) is None
    with_bf16 = replace(x86, has_bf16_dot=True)
    assert dot_kind(with_bf16, bf16, bf16, 2) == DotKind.DPBF16PS
    assert dot_kind(with_bf16, bf16, bf16, 4) is None


def test_descriptions_need_no_xdsl():
    code = (
        "import sys, glow.glow_dialects.machine, glow.glow_dialects.timings\n"
        "assert not [m for m in sys.modules if m.split('.')[0] == 'xdsl']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_sums_hide_the_latency():
    assert TIMINGS.independent_sums == 8


@pytest.mark.parametrize(
    ("bits", "kinds", "lanes", "found"),
    [
        (512, ("vpermi2b", "pshufb"), 64, "vpermi2b"),
        (512, ("pshufb",), 16, "pshufb"),
        (128, ("pshufb",), 16, "pshufb"),
        # not wider than a vector, and not so few that no instruction has them
        (128, ("pshufb",), 32, None),
        (512, ("vpermi2b",), 8, None),
        (128, ("tbl",), 16, "tbl"),
        (512, (), 64, None),
    ],
)
def test_byte_lookups(bits: int, kinds: tuple, lanes: int, found: str | None):
    assert MachineDescription(bits, byte_lookups=kinds).byte_lookup(lanes) == found
