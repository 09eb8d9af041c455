"""Token checks against orders of execution that are computed from first principles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from random import Random

import numpy as np
import pytest
from glow.glow_dialects.vta import (
    CONFIG,
    AluOp,
    AluOpcode,
    ConfigAttr,
    Engine,
    FinishOp,
    GemmOp,
    LoadOp,
    MicroOpsOp,
    RegionKind,
    RegionOp,
    StoreOp,
    VtaConfig,
    VtaInstruction,
    VtaMemory,
)
from glow.glow_dialects.vta.attributes import tokens_attr
from glow.passes.vta.verify_vta_tokens import execution_order, verify_tokens
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Block, Operation, Region
from xdsl.utils.exceptions import VerifyException

SMALL = VtaConfig(
    block_in=4, block_out=4, inp_depth=8, wgt_depth=4, acc_depth=8, uop_depth=8, loop_bits=4
)
LOAD, COMPUTE, STORE = Engine
MICRO_OPS = [(0, 0, 0), (1, 3, 1), (2, 1, 3), (4, 2, 0)]


def program(ops: Sequence[Operation], config: VtaConfig = SMALL) -> func.FuncOp:
    function = func.FuncOp(
        "main", FunctionType.from_lists([], []), Region(Block([*ops, func.ReturnOp()]))
    )
    function.attributes[CONFIG] = ConfigAttr(config)
    function.verify()
    return function


def touched(op: VtaInstruction) -> tuple[set, set]:
    """
    Returns the elements that an instruction reads and writes: (memory, element) and ("dram", byte).
    """
    reads, writes = set(), set()
    if isinstance(op, LoadOp | StoreOp):
        f = op.fields(SMALL)
        if f["x_size"]:
            size = SMALL.element_bytes(op.memory_type)
            dram = {
                ("dram", (f["dram_base"] + y * f["x_stride"] + x) * size + b)
                for y in range(f["y_size"])
                for x in range(f["x_size"])
                for b in range(size)
            }
            height = f["y_pad_0"] + f["y_size"] + f["y_pad_1"]
            width = f["x_pad_0"] + f["x_size"] + f["x_pad_1"]
            chip = {(op.memory_type.buffer, f["sram_base"] + i) for i in range(height * width)}
            reads, writes = (dram, chip) if isinstance(op, LoadOp) else (chip, dram)
    elif isinstance(op, GemmOp | AluOp):
        f = op.fields(SMALL)
        for i in range(f["iter_out"]):
            for j in range(f["iter_in"]):
                for dst, src, wgt in MICRO_OPS[f["uop_bgn"] : f["uop_end"]]:
                    writes.add(
                        (VtaMemory.ACC, dst + i * f["dst_factor_out"] + j * f["dst_factor_in"])
                    )
                    s = src + i * f["src_factor_out"] + j * f["src_factor_in"]
                    if isinstance(op, AluOp) and not f["use_imm"]:
                        reads.add((VtaMemory.ACC, s))
                    if isinstance(op, GemmOp) and not f["reset"]:
                        w = wgt + i * f["wgt_factor_out"] + j * f["wgt_factor_in"]
                        reads |= {(VtaMemory.INP, s), (VtaMemory.WGT, w)}
    return reads, writes


def precedes(ops: list[VtaInstruction]) -> np.ndarray | None:
    """Returns [i, j]: whether i is certainly done before j starts. None for a deadlock."""
    n = len(ops)
    edges = np.eye(n, dtype=bool)
    last: dict[Engine, int] = {}
    pushes: dict[tuple[Engine, Engine], list[int]] = {}
    pops: dict[tuple[Engine, Engine], list[int]] = {}
    for i, op in enumerate(ops):
        if op.engine in last:
            edges[last[op.engine], i] = True
        last[op.engine] = i
        for other in op.tokens.data.pushed(op.engine):
            assert other is not None
            pushes.setdefault((op.engine, other), []).append(i)
        for other in op.tokens.data.popped(op.engine):
            assert other is not None
            pops.setdefault((other, op.engine), []).append(i)
    for queue, receivers in pops.items():
        senders = pushes.get(queue, [])
        if len(senders) < len(receivers):
            return None
        for sender, receiver in zip(senders, receivers, strict=False):
            edges[sender, receiver] = True
    for k in range(n):
        edges |= np.outer(edges[:, k], edges[k])
    cyclic = edges & edges.T
    np.fill_diagonal(cyclic, False)
    return None if cyclic.any() else edges


def expected_fault(ops: list[VtaInstruction]) -> str | None:
    """Returns a part of the message, computed by comparing all pairs of instructions."""
    before = precedes(ops)
    if before is None:
        return "deadlock"
    for sender, receiver in ((LOAD, COMPUTE), (COMPUTE, LOAD), (COMPUTE, STORE), (STORE, COMPUTE)):
        sent = sum(op.engine == sender and receiver in pushed(op) for op in ops)
        if sent > sum(op.engine == receiver and sender in popped(op) for op in ops):
            return "all tokens to be used"
    stores = [i for i, op in enumerate(ops) if isinstance(op, StoreOp) and touched(op)[1]]
    if not all(before[i, len(ops) - 1] for i in stores):
        return "all stores to be done"
    sets = [touched(op) for op in ops]
    for i, j in combinations(range(len(ops)), 2):
        if ops[i].engine == ops[j].engine or before[i, j] or before[j, i]:
            continue
        (ri, wi), (rj, wj) = sets[i], sets[j]
        if wi & wj or wi & rj or ri & wj:
            return "data race"
    return None


def popped(op: VtaInstruction) -> list[Engine]:
    return [e for e in op.tokens.data.popped(op.engine) if e is not None]


def pushed(op: VtaInstruction) -> list[Engine]:
    return [e for e in op.tokens.data.pushed(op.engine) if e is not None]


def tokens(random: Random, engine: Engine, likely: float):
    near = [e for e in (engine.prev, engine.next) if e is not None]
    return [tuple(e for e in near if random.random() < likely) for _ in range(2)]


def random_instruction(random: Random, dram: RegionOp, likely: float) -> VtaInstruction:
    region, kind = dram.result, random.randrange(6)
    if kind < 2:
        memory = (VtaMemory.INP, VtaMemory.WGT)[kind]
        pad = (0, 0, 0, random.randint(0, 1)) if memory is VtaMemory.INP else (0, 0, 0, 0)
        shape = random.choice(((1, 1, 1), (1, 2, 2), (2, 1, 3), (0, 0, 0)))
        start = random.randint(0, 1)
        flags = tokens(random, LOAD, likely)
        return LoadOp.of(memory, start, region, random.randint(0, 4), *shape, pad, *flags)
    if kind == 2:
        shape = random.choice(((1, 1, 1), (2, 2, 4), (3, 1, 2), (1, 0, 0)))
        flags = tokens(random, STORE, likely)
        return StoreOp.of(random.randint(0, 3), region, random.randint(0, 9), *shape, *flags)
    flags = tokens(random, COMPUTE, likely)
    if kind == 3:
        memory = random.choice((VtaMemory.ACC, VtaMemory.ACC_8BIT))
        place = (memory, random.randint(0, 6), region, random.randint(0, 2))
        return LoadOp.of(*place, 1, 2, 2, (0, 0, 0, 0), *flags)
    uops = random.choice(((0, 1), (1, 3), (2, 4), (3, 3)))
    loop, steps = (random.randint(0, 2), random.randint(1, 2)), (random.randint(0, 1), 1)
    if kind == 4:
        return GemmOp.of(uops, loop, steps, steps, (0, 0), random.random() < 0.3, *flags)
    imm = random.choice((None, 3))
    return AluOp.of(AluOpcode.ADD, uops, loop, steps, steps, imm, *flags)


@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from((0.0, 0.15, 0.5)))
@settings(deadline=None, max_examples=200)
def test_faults_are_those_of_all_pairs(seed: int, length: int, likely: float) -> None:
    random = Random(seed)
    dram = RegionOp.of(RegionKind.SCRATCH, "t", 0, 1024)
    table = MicroOpsOp.of("u", 4096, MICRO_OPS)
    first = LoadOp.of(VtaMemory.UOP, 0, table.result, 0, 1, len(MICRO_OPS))
    ops = [random_instruction(random, dram, likely) for _ in range(length)]
    ops = balanced(random, [first, *ops]) if random.random() < 0.7 else [first, *ops]
    spare = sum(COMPUTE in pushed(op) for op in ops if op.engine is STORE)
    spare -= sum(STORE in popped(op) for op in ops)
    ops.append(FinishOp.of(pop=(STORE,)) if spare > 0 else FinishOp.of())
    function = program([dram, table, *ops])
    fault = expected_fault(ops)
    if fault is None:
        verify_tokens(function)
        return
    with pytest.raises(VerifyException) as caught:
        verify_tokens(function)
    assert fault in str(caught.value)


def balanced(random: Random, ops: list[VtaInstruction]) -> list[VtaInstruction]:
    """Keeps only the tokens that can be matched, so that more programs run to their end."""
    kept: list[VtaInstruction] = []
    queued: Counter[tuple[Engine, Engine]] = Counter()
    for op in ops:
        pop = [e for e in popped(op) if queued[e, op.engine] > 0]
        queued.subtract((e, op.engine) for e in pop)
        queued.update((op.engine, e) for e in pushed(op))
        kept.append(with_tokens(op, pop, pushed(op)))
    for (sender, receiver), count in queued.items():
        # one token for FINISH, at times
        spare = (sender, receiver) == (STORE, COMPUTE) and random.random() < 0.5
        kept += [nothing(receiver, (sender,)) for _ in range(count - spare)]
    return kept


def nothing(engine: Engine, pop: tuple[Engine, ...]) -> VtaInstruction:
    """Returns an instruction that only waits."""
    if engine is STORE:
        return StoreOp.of(0, None, 0, 0, 0, pop=pop)
    memory = VtaMemory.INP if engine is LOAD else VtaMemory.UOP
    return LoadOp.of(memory, 0, None, 0, 0, 0, pop=pop)


def with_tokens(op: VtaInstruction, pop: list[Engine], push: list[Engine]) -> VtaInstruction:
    found = op.clone({v: v for v in op.operands})
    found.properties["tokens"] = tokens_attr(op.engine, tuple(pop), tuple(push))
    return found


def test_order_of_execution_respects_tokens() -> None:
    ops: list[VtaInstruction] = [
        GemmOp.of((0, 0), pop=(LOAD,), push=(STORE,)),
        StoreOp.of(0, None, 0, 0, 0, pop=(COMPUTE,), push=(COMPUTE,)),
        LoadOp.of(VtaMemory.INP, 0, None, 0, 0, 0, push=(COMPUTE,)),
        FinishOp.of(pop=(STORE,)),
    ]
    order = execution_order(ops)
    assert [step.number for step in order] == [2, 0, 1, 3]
    # LOAD, COMPUTE, STORE: how many are done before
    assert [step.clock for step in order] == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_a_missing_token_in_a_long_program_is_found() -> None:
    ops, table = double_buffered(1000)
    verify_tokens(program([table, *ops], VtaConfig()))
    # GEMM no longer says which half of the activations is free, and LOAD no longer asks
    ops, table = double_buffered(1000)
    ops = [
        with_tokens(op, [e for e in popped(op) if op.engine is not LOAD], push)
        for op in ops
        for push in [[e for e in pushed(op) if (op.engine, e) != (COMPUTE, LOAD)]]
    ]
    with pytest.raises(VerifyException, match="data race in inp"):
        verify_tokens(program([table, *ops], VtaConfig()))


def double_buffered(rounds: int) -> tuple[list[VtaInstruction], MicroOpsOp]:
    """Activations go to two halves of INP in turn, so that a load may run beside a product."""
    halves = (0, 1024)
    table = MicroOpsOp.of("u", 1 << 30, [(k, half + k, 0) for half in halves for k in range(16)])
    ops: list[VtaInstruction] = [LoadOp.of(VtaMemory.UOP, 0, table.result, 0, 1, 32)]
    for i in range(rounds):
        uops = ((0, 16), (16, 32))[i % 2]
        free: tuple[Engine, ...] = (LOAD,) if i < rounds - 2 else ()
        stored: tuple[Engine, ...] = (STORE,) if i else ()
        ops += [
            LoadOp.of(
                *(VtaMemory.INP, halves[i % 2], None, i * 256, 16, 16, 16),
                pop=(COMPUTE,) if i >= 2 else (),
                push=(COMPUTE,),
            ),
            GemmOp.of(
                *(uops, (1, 16), (0, 16), (0, 16)),
                pop=(LOAD, *stored),
                push=(*free, STORE),
            ),
            StoreOp.of(0, None, (1 << 22) + i * 256, 1, 256, pop=(COMPUTE,), push=(COMPUTE,)),
        ]
    return [*ops, FinishOp.of(pop=(STORE,))], table
