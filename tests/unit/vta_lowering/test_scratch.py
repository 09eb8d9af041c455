"""VtaMemory between layers is used again, and tokens keep what lies there in order."""

from __future__ import annotations

import pytest
from glow.glow_dialects.plan_attributes import ARENA_LOWER_BOUND, ARENA_SIZE
from glow.glow_dialects.vta import (
    CONFIG,
    ConfigAttr,
    MicroOpsOp,
    RegionKind,
    RegionOp,
    VtaConfig,
    VtaMemory,
    contents,
)
from glow.lowering.vta.emit import reset
from glow.lowering.vta.form_layers import form_layers
from glow.lowering.vta.lower import lower
from glow.lowering.vta.memory_map import MemoryMap
from glow.lowering.vta.micro_ops import MicroOps
from glow.lowering.vta.regions import Dram, Move, Space
from glow.lowering.vta.stream import BufferSpan, Stream
from glow.passes.instructions.memory_planner import Plan
from glow.passes.vta.verify_vta_tokens import verify_tokens
from glow.tests.support.seeds import generator
from glow.tests.support.vta_networks import CONFIGS, RandomNetwork, convolved, instructions
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Region
from xdsl.utils.exceptions import VerifyException


def chain(layers: int, config: VtaConfig) -> func.FuncOp:
    """Returns consecutive convolutions on images of several tiles."""
    net = RandomNetwork(int(generator().integers(2**32)), (1, 16, 24, 24))
    x = net.values[0]
    for _ in range(layers):
        x = convolved(net, x, 16, 16, 3, 1)
    return instructions(net.module([x]), config)


def scratch(function: func.FuncOp) -> list[RegionOp]:
    found = [op for op in contents(function)[0] if isinstance(op, RegionOp)]
    return [op for op in found if op.kind.data is RegionKind.SCRATCH]


def arena(function: func.FuncOp) -> tuple[int, int]:
    """Returns the bytes of scratch, and the least that it could take."""
    found = [function.attributes.get(name) for name in (ARENA_SIZE, ARENA_LOWER_BOUND)]
    size, least = (a.value.data if isinstance(a, IntegerAttr) else 0 for a in found)
    return size, least


def test_two_tensors_suffice_for_a_chain():
    config = VtaConfig()
    function = form_layers(chain(7, config), config)
    element = config.element_bytes(VtaMemory.OUT)
    assert arena(function) == (2 * 24 * 24 * element,) * 2
    lower(function)
    places = [op.first_byte for op in scratch(function)]
    assert len(places) == 6
    assert places[::2] == places[:1] * 3
    assert places[1::2] == places[1:2] * 3


def stored_again(knows: bool) -> func.FuncOp:
    """
    Stores and loads a tensor, and then stores another one, half of which lies at the same place.
    """
    config = VtaConfig()
    memory = MemoryMap(config)
    a, b = (
        memory.tensor(RegionKind.SCRATCH, name, (1, 16, 4, 4), (-128, 127)).dram for name in "ab"
    )
    memory.place_scratch(Plan((0, 128), 384))
    memory.order_accesses()
    if not knows:
        a.space, b.space, b.start = Space(16), Space(16), 0
    table = MicroOpsOp.of("u", 1 << 20, [(0, 0, 0)])
    stream = Stream(config)
    reset(stream, MicroOps(stream, Dram(table.result, 0)), BufferSpan(VtaMemory.ACC, 0, 16))
    all_of_it = Move(0, 1, 16, 16)
    stream.store(0, a, all_of_it)
    stream.load(VtaMemory.INP, 0, a, all_of_it)
    stream.store(0, b, all_of_it)
    stream.finish()
    block = Block([*memory.regions, table, *stream.instructions(), func.ReturnOp()])
    function = func.FuncOp("main", ([], []), Region(block))
    function.attributes[CONFIG] = ConfigAttr(config)
    return function


def test_a_store_waits_for_loads_from_what_lay_there():
    verify_tokens(stored_again(knows=True))
    with pytest.raises(VerifyException, match=r"data race in DRAM: .* from %a"):
        verify_tokens(stored_again(knows=False))


@given(seed=st.integers(0, 2**32 - 1), layers=st.integers(4, 12))
@settings(max_examples=10, deadline=None)
def test_what_is_in_use_at_once_has_bytes_of_its_own(seed: int, layers: int):
    config = CONFIGS[seed % len(CONFIGS)]
    function = form_layers(instructions(RandomNetwork(seed).grow(layers), config), config)
    size, least = arena(function)
    assert least <= size <= 1.5 * least
    lower(function)
    verify_tokens(function)
    uses: dict[RegionOp, list[int]] = {op: [] for op in scratch(function)}
    for number, op in enumerate(contents(function)[1]):
        for operand in op.operands:
            if operand.owner in uses:
                uses[operand.owner].append(number)  # pyright: ignore
    ranges = [(op.first_byte, op.first_byte + op.num_bytes, *n) for op, n in uses.items()]
    for i, (low, high, first, *_, last) in enumerate(ranges):
        for other_low, other_high, other_first, *_, other_last in ranges[:i]:
            together = first <= other_last and other_first <= last
            assert not together or high <= other_low or other_high <= low
