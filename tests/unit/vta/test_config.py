"""Sizes that follow from a configuration."""

from __future__ import annotations

from itertools import pairwise

import pytest
from glow.glow_dialects.vta import DEFAULT, Engine, VtaConfig, VtaMemory
from glow.glow_dialects.vta.attributes import tokens_attr
from glow.glow_dialects.vta.fields import alu_layout, gemm_layout, memory_layout, micro_op_layout


def test_the_default_is_that_of_the_specification() -> None:
    sizes = {
        m: (
            DEFAULT.depth(m),
            DEFAULT.element_bytes(m),
            DEFAULT.depth(m) * DEFAULT.element_bytes(m.buffer),
        )
        for m in VtaMemory
    }
    assert sizes == {
        VtaMemory.UOP: (8192, 4, 32 << 10),
        VtaMemory.WGT: (1024, 256, 256 << 10),
        VtaMemory.INP: (2048, 16, 32 << 10),
        VtaMemory.ACC: (2048, 64, 128 << 10),
        VtaMemory.OUT: (2048, 16, 128 << 10),
        VtaMemory.ACC_8BIT: (2048, 16, 128 << 10),
    }
    assert [m.code for m in VtaMemory] == [0, 1, 2, 3, 4, 5]


def test_elements_of_other_sizes() -> None:
    config = VtaConfig(batch=2, block_in=8, block_out=4, wgt_bits=4, acc_bits=16, out_bits=16)
    assert [config.element_bytes(m) for m in VtaMemory] == [4, 16, 16, 16, 16, 8]


def test_fields_fill_words_from_bit_0_up() -> None:
    for layout_of in (memory_layout, gemm_layout, alu_layout):
        for config in (DEFAULT, VtaConfig(uop_depth=64, acc_depth=32)):
            fields = list(layout_of(config).values())
            for a, b in pairwise(fields):
                follows = (b.word, b.shift) == (a.word, a.shift + a.width)
                begins = (b.word, b.shift) == (a.word + 1, 0) and a.shift + a.width + b.width > 64
                assert follows or begins
    # a small machine's factors fit into the first word
    assert gemm_layout(VtaConfig(uop_depth=64, acc_depth=32))["dst_factor_out"].word == 0
    assert {f.name: f.shift for f in micro_op_layout(DEFAULT).values()} == {
        "dst": 0,
        "src": 11,
        "wgt": 22,
    }


def test_engines_form_a_chain() -> None:
    assert [(e.prev, e.next) for e in Engine] == [
        (None, Engine.COMPUTE),
        (Engine.LOAD, Engine.STORE),
        (Engine.COMPUTE, None),
    ]
    assert [m.engine for m in VtaMemory] == [
        *(Engine.COMPUTE, Engine.LOAD, Engine.LOAD, Engine.COMPUTE, Engine.STORE, Engine.COMPUTE)
    ]
    with pytest.raises(ValueError, match="store has no queue of tokens with load"):
        tokens_attr(Engine.STORE, (Engine.LOAD,), ())
