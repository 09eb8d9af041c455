"""The two decoders, the encoder, and the assembler of the tests agree on every field."""

from __future__ import annotations

import numpy as np
from glow.glow_dialects.vta.config import VtaConfig
from glow.lowering.vta import decode as dialect
from glow.lowering.vta.encode import encode_instructions
from glow.runtime.vta.words import Alu, Transfer, decode_instructions, decode_micro_ops
from glow.tests.support import vta_assembler as asm
from glow.tests.support.vta_assembler import COMPUTE_ENGINE, STORE_ENGINE, Op
from hypothesis import given
from hypothesis import strategies as st

CONFIGS = [
    VtaConfig(),
    VtaConfig(2, 8, 4, inp_depth=64, wgt_depth=4096, acc_depth=32, uop_depth=128),
    VtaConfig(1, 32, 32, inp_depth=256, wgt_depth=2, acc_depth=128, uop_depth=32768),
]
"""The last one has fields that begin a word because they do not fit into the one before."""


def random_op(rng: np.random.Generator, config: VtaConfig) -> Op:
    """Returns an instruction whose fields have any values that their widths allow."""
    examples = [
        asm.load(int(rng.choice([0, 1, 2, 3, 5])), 0, 0),
        asm.store(0, 0),
        asm.gemm((0, 0)),
        asm.alu(int(rng.integers(5)), (0, 0), imm=int(rng.integers(-(2**15), 2**15))),
        asm.alu(int(rng.integers(5)), (0, 0)),
        asm.finish(),
    ]
    op = examples[rng.integers(len(examples))]
    kept = ("memory_type", "alu_opcode", "use_imm", "imm", "reset")
    pads = ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")
    if op.name == "store" or op.fields.get("memory_type") in (asm.UOP, asm.WGT):
        kept += pads  # these cannot pad
    fields = {
        name: op[name] if name in kept else int(rng.integers(0, 1 << width))
        for name, width in asm.widths(op, config).items()
    }
    flags = [flag for flag in asm.FLAGS if rng.integers(2)]
    if op.engine != COMPUTE_ENGINE:
        side = "prev" if op.engine == STORE_ENGINE else "next"
        flags = [flag for flag in flags if flag.endswith(side)]
    return Op(op.name, fields, frozenset(flags))


@given(st.integers(0, 2**63), st.sampled_from(CONFIGS))
def test_all_fields(seed: int, config: VtaConfig) -> None:
    rng = np.random.default_rng(seed)
    ops = [random_op(rng, config) for _ in range(12)]
    words = asm.assemble(ops, config)
    np.testing.assert_array_equal(
        encode_instructions(dialect.decode_instructions(words, config), config), words
    )
    for number, (op, found) in enumerate(zip(ops, decode_instructions(words, config), strict=True)):
        assert found.number == number
        assert found.flags == sum(1 << n for n, flag in enumerate(asm.FLAGS) if flag in op.flags)
        assert found.engine == op.engine
        rest = found[3:] if isinstance(found, Transfer) else found[2:]
        assert [int(value) for value in rest] == list(op.fields.values())
        if isinstance(found, Alu):
            assert found.imm == op["imm"]


@given(st.integers(0, 2**63), st.sampled_from(CONFIGS))
def test_micro_ops(seed: int, config: VtaConfig) -> None:
    rng = np.random.default_rng(seed)
    source = max(config.acc_depth, config.inp_depth)
    limits = (config.acc_depth, source, config.wgt_depth)
    ops = rng.integers(0, limits, (9, 3))
    words = asm.micro_ops([tuple(op) for op in ops.tolist()], config)
    np.testing.assert_array_equal(np.stack(decode_micro_ops(words, config), axis=1), ops)
    np.testing.assert_array_equal(dialect.decode_micro_ops(words, config), ops)
