"""Estimated cycles on programs where they can be worked out by hand, and timelines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from glow.glow_dialects.vta.config import VtaConfig
from glow.glow_dialects.vta.timing import VtaTiming
from glow.runtime.vta.program import VtaProgram
from glow.runtime.vta.timing import Estimate, estimate
from glow.runtime.vta.trace import write_trace
from glow.runtime.vta.words import Engine, MemoryCode, VtaError
from glow.tests.support import vta_assembler as asm
from glow.tests.support.vta_assembler import ACC, ACC_8BIT, INP, UOP, WGT, Op

CONFIG = VtaConfig()
TIMING = VtaTiming(dram_latency=30, start=5)


def make(ops: list[Op], layers: tuple[tuple[str, int, int], ...] = ()) -> VtaProgram:
    # times depend on no data, so these programs need no memory
    return asm.program(ops, CONFIG, [], layers)


def times(ops: list[Op], timing: VtaTiming = TIMING) -> Estimate:
    return estimate(make([*ops, asm.finish()]), timing)


def spans(found: Estimate) -> list[tuple[int, int]]:
    return list(zip(found.start, found.end, strict=True))


@pytest.mark.parametrize(
    ("op", "cycles"),
    [
        # 16 bytes an element and 8 a cycle
        (asm.load(INP, 0, 0, 1, 10), 30 + 20),
        (asm.load(INP, 0, 0, 3, 10), 30 + 60),
        # rows apart, zeros around them
        (asm.load(INP, 0, 0, 3, 10, 99), 30 + 60),
        (asm.load(INP, 0, 0, 3, 10, 12, (1, 0, 2, 1)), 30 + 60 + (4 * 13 - 30)),
        (asm.load(WGT, 0, 0, 1, 2), 30 + 64),
        (asm.load(ACC, 0, 0, 1, 3), 30 + 24),
        (asm.load(ACC_8BIT, 0, 0, 1, 3), 30 + 6),
        # 4 bytes an element: 12 bytes take 2 cycles, and in rows that are apart each row does
        (asm.load(UOP, 0, 0, 1, 3), 30 + 2),
        (asm.load(UOP, 0, 0, 3, 1), 30 + 2),
        (asm.load(UOP, 0, 0, 3, 1, 2), 30 + 3),
        (asm.store(0, 0, 2, 7, 9), 30 + 28),
        (asm.nop(asm.LOAD_ENGINE), 1),
        (asm.gemm((0, 3), (5, 7)), 5 + 105),
        (asm.gemm((0, 3), (5, 7), reset=1), 5 + 105),
        (asm.gemm((3, 3), (5, 7)), 5),
        (asm.alu(asm.ADD, (0, 3), (5, 7)), 5 + 210),
    ],
)
def test_one_instruction(op: Op, cycles: int) -> None:
    found = times([op])
    assert spans(found)[0] == (0, cycles)
    assert found.busy[Engine(op.engine)] >= cycles


def test_engines_overlap_without_tokens() -> None:
    loads = [asm.load(INP, 0, 0, 1, 40)] * 3
    products = [asm.gemm((0, 1), (1, 100))] * 4
    found = times([*loads, *products])
    assert found.busy == {Engine.LOAD: 330, Engine.COMPUTE: 421, Engine.STORE: 0}
    assert found.cycles == 421
    assert found.total.gemm_iterations == 400
    assert found.total.gemm_utilisation == pytest.approx(400 / 421)


def test_a_chain_of_tokens_is_serial() -> None:
    ops = [
        asm.load(INP, 0, 0, 1, 40),
        asm.gemm((0, 1), (1, 100)),
        asm.store(0, 0, 1, 8),
        asm.gemm((0, 1), (1, 50)),
        asm.load(WGT, 0, 0),
    ]
    found = estimate(make(asm.in_sequence(ops)), TIMING)
    ends = [110, 215, 261, 316, 378, 379]
    assert list(found.end) == ends
    assert list(found.start) == [0, *ends[:-1]]
    assert found.cycles == 379


def test_two_threads_hide_the_loads() -> None:
    """While one half of a buffer is used, the other is loaded; only the first load shows."""
    tiles, load_cycles, product_cycles = 9, 30 + 40, 5 + 200
    ops = []
    for t in range(tiles):
        load = asm.load(INP, 0, 0, 1, 20).having("push_next")
        product = asm.gemm((0, 1), (1, 200)).having("pop_prev")
        ops.append(load.having("pop_next") if t >= 2 else load)
        ops.append(product.having("push_prev") if t < tiles - 2 else product)
    found = times(ops)
    assert found.cycles == load_cycles + tiles * product_cycles + 1
    assert found.busy[Engine.LOAD] == tiles * load_cycles


def test_loads_share_the_read_channel_and_stores_do_not() -> None:
    """COMPUTE asks for biases while LOAD still receives inputs."""
    ops = [asm.load(INP, 0, 0, 1, 50), asm.load(ACC, 0, 0, 1, 5), asm.store(0, 0, 1, 20)]
    found = times(ops)
    assert spans(found)[:3] == [(0, 130), (0, 170), (0, 70)]


def test_parameters() -> None:
    op = asm.alu(asm.MAX, (0, 1), (10, 10))
    assert times([op], VtaTiming(alu_interval=1, alu_lanes=4, start=0)).end[0] == 400
    assert times([op], VtaTiming(alu_lanes=5, start=0)).end[0] == 800
    assert times([asm.gemm((0, 1), (10, 10))], VtaTiming(gemm_interval=3, start=0)).end[0] == 300
    wide = VtaTiming(bytes_per_cycle=32, dram_latency=0)
    assert times([asm.load(INP, 0, 0, 1, 10)], wide).end[0] == 5


def test_layers_add_up() -> None:
    ops = asm.in_sequence(
        [
            asm.load(INP, 0, 0, 1, 40),
            asm.load(WGT, 0, 0, 1, 4),
            asm.gemm((0, 1), (1, 100), reset=1),
            asm.gemm((0, 1), (1, 100)),
            asm.store(0, 0, 2, 3, 9),
            asm.load(ACC_8BIT, 0, 0, 1, 7),
            asm.gemm((0, 2), (1, 30)),
        ]
    )
    found = estimate(make(ops, (("first", 0, 4), ("second", 5, len(ops) - 1))), TIMING)
    first, second = found.layers
    assert (first.name, first.gemm_iterations) == ("first", 100)
    assert (second.name, second.gemm_iterations) == ("second", 60)
    assert first.cycles == found.end[4]
    assert first.cycles + second.cycles == found.cycles
    assert first.gemm_utilisation == pytest.approx(100 / first.cycles)
    assert first.dram_bytes == {
        **dict.fromkeys(MemoryCode, 0),
        MemoryCode.INP: 640,
        MemoryCode.WGT: 1024,
        MemoryCode.OUT: 96,
    }
    assert second.dram_bytes == {**dict.fromkeys(MemoryCode, 0), MemoryCode.ACC_8BIT: 112}
    assert found.total.dram_bytes[MemoryCode.WGT] == 1024
    assert found.instruction_bytes == 16 * len(ops)


def test_a_layer_that_ends_before_the_one_in_front_takes_no_time() -> None:
    ops = [asm.gemm((0, 1), (10, 10)), asm.load(INP, 0, 0), asm.finish()]
    found = estimate(make(ops, (("slow", 0, 0), ("hidden", 1, 1), ("end", 2, 2))), TIMING)
    assert [layer.cycles for layer in found.layers] == [105, 0, 1]
    assert found.layers[1].gemm_utilisation == 0


def test_deadlock_is_found() -> None:
    with pytest.raises(VtaError, match="deadlock: instruction 0"):
        times([asm.gemm((0, 1)).having("pop_prev")])


@pytest.mark.parametrize(
    "values",
    [
        {"bytes_per_cycle": 0},
        {"start": -1},
        {"alu_lanes": 0},
        {"clock_mhz": 0},
        {"gemm_interval": 0},
    ],
)
def test_impossible_timing(values: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="no VTA has this timing"):
        VtaTiming(**values)


def test_timeline(tmp_path: Path) -> None:
    ops = asm.in_sequence([asm.load(INP, 0, 0, 1, 5), asm.gemm((0, 2), (3, 1)), asm.store(0, 0)])
    program = make(ops, (("layer", 0, len(ops) - 1),))
    timing = VtaTiming(clock_mhz=200.0)
    path = tmp_path / "trace.json"
    write_trace(path, program, timing=timing)
    events = json.loads(path.read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    found = estimate(program, timing)
    slices = [e for e in events if e["ph"] == "X"]
    layer, *rest = slices
    assert tracks[layer["tid"]] == "layers"
    assert (layer["name"], layer["dur"]) == ("layer", found.cycles / 200)
    assert [(tracks[e["tid"]], e["name"]) for e in rest] == [
        ("LOAD", "LOAD INP"),
        ("COMPUTE", "GEMM"),
        ("STORE", "STORE OUT"),
        ("COMPUTE", "FINISH"),
    ]
    for n, event in enumerate(rest):
        assert event["ts"] == pytest.approx(found.start[n] / 200)
        assert event["ts"] + event["dur"] == pytest.approx(found.end[n] / 200)
        assert event["args"]["number"] == n
    assert rest[0]["args"]["bytes"] == 80
    assert rest[1]["args"]["iterations"] == 6
