"""Graphs with symbols compile for the sizes of the inputs of each call."""

from __future__ import annotations

import re
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.errors import GlowError, InputError, ModelError
from glow.glow_dialects.extents import symbol_size
from glow.glow_dialects.glow.arithmetic import AddOp
from glow.glow_dialects.glow.shape import ConcatOp
from glow.models.specialization import SymbolicModel
from glow.passes.graph.bind_symbols import bind_symbols
from glow.tests.support.symbolic_graphs import NETWORKS, SYMBOLS, Network, cache
from glow.tools.glow_run import main
from xdsl.dialects.builtin import ModuleOp

SEQ = symbol_size("seq", 1, 9)


def doubled() -> ModuleOp:
    """Returns the sum of rows twice and of twice as many rows."""
    n = Network()
    x, y = n.argument([SEQ, 3]), n.argument([2 * SEQ, 3])
    return n.finish(n.node(AddOp, n.node(ConcatOp, x, x, axis=0), y))


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_sizes_are_those_of_inputs(backend: str, tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "doubled.mlir"
    path.write_text(str(doubled()))
    model = glow.compile(path, backend=backend, max_specializations=2)
    assert isinstance(model, SymbolicModel)
    assert model.symbols == {"seq": None}
    assert [str(info) for info in model.get_inputs()] == ["float32[seq, 3]", "float32[2 * seq, 3]"]
    for seq in (1, 5, 3, 5):
        x = rng.uniform(-1, 1, (seq, 3)).astype(np.float32)
        y = rng.uniform(-1, 1, (2 * seq, 3)).astype(np.float32)
        (found,) = model(x, y)
        np.testing.assert_array_equal(found, np.concatenate([x, x]) + y)
    assert [s.symbols for s in model.specializations] == [{"seq": 3}, {"seq": 5}]


def test_equal_to_what_is_bound_first(rng: np.random.Generator) -> None:
    module = cache(SYMBOLS["cache"])
    model = glow.compile(module, cache=False)
    for past, new in ((3, 2), (1, 7)):
        arrays = [rng.uniform(-1, 1, (n, 4)).astype(np.float32) for n in (past, new)]
        static = module.clone()
        bind_symbols(static, {"past": past, "new": new})
        wanted = glow.compile(static, backend="interpreter")(*arrays)
        for a, b in zip(model(*arrays), wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


def test_inputs_that_contradict_each_other(rng: np.random.Generator) -> None:
    model = glow.compile(doubled(), backend="interpreter")
    x = np.ones((3, 3), np.float32)
    wrong = (
        "dimension 0 of input 'x1' is 7: expected 2 * seq, which is 6, because seq is 3 in "
        "dimension 0 of input 'x0'"
    )
    with pytest.raises(InputError, match=re.escape(wrong)):
        model(x, np.ones((7, 3), np.float32))
    with pytest.raises(GlowError, match=r"symbol 'seq' is 10: expected a size from 1 to 9"):
        model(np.ones((10, 3), np.float32), np.ones((20, 3), np.float32))
    model(x, np.ones((6, 3), np.float32))


def test_one_symbol_with_two_sizes() -> None:
    n = Network()
    model = glow.compile(
        n.finish(n.node(AddOp, n.argument([SEQ]), n.argument([SEQ]))), backend="interpreter"
    )
    wrong = "'seq' is 2 in dimension 0 of input 'x0', but 3 in dimension 0 of input 'x1'"
    with pytest.raises(InputError, match=wrong):
        model(np.ones(2, np.float32), np.ones(3, np.float32))


def test_symbols_may_be_bound_before() -> None:
    networks = {name: NETWORKS[name](SYMBOLS[name]) for name in ("cache",)}
    model = glow.compile(networks["cache"], backend="interpreter", symbols={"new": 2})
    assert model.symbols == {"new": 2, "past": None}
    with pytest.raises(GlowError, match="no symbol is called 'old'"):
        glow.compile(networks["cache"], backend="interpreter", symbols={"old": 2})


def test_a_symbol_that_no_input_has() -> None:
    n = Network()
    module = n.finish(n.argument([2 * SEQ]))
    with pytest.raises(ModelError, match=r"2 \* seq: expected an input with a dimension seq"):
        glow.compile(module, backend="interpreter")


def test_glow_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "doubled.mlir"
    path.write_text(str(doubled()))
    for i, size in enumerate((3, 6)):
        np.save(tmp_path / f"x{i}.npy", np.ones((size, 3), np.float32))
    inputs = [f"--input=x{i}={tmp_path}/x{i}.npy" for i in range(2)]
    assert main([str(path), "--backend=interpreter", *inputs]) == 0
    assert "y0" in capsys.readouterr().out
