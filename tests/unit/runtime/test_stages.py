"""The stages of compilation: what is kept, verified, dumped and reported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.context import make_context
from glow.glow_dialects.claims import Claim
from glow.interface.backend import Backend, Stage
from glow.passes.visited_operation import each
from glow.tests.support.small_models import graph, small_network
from glow.universe import multiverse
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.parser import Parser
from xdsl.passes import ModulePass


def test_stages_of_the_cpu_in_order_and_parse_back():
    model = glow.compile(small_network(7), symbols={"batch": 1})
    names = list(model.stages)
    assert names[0] == "imported"
    assert names[-1] == "llvm"
    assert len(model.stages) == len(names)
    assert "nonsense" not in model.stages
    with pytest.raises(KeyError):
        model.stages["nonsense"]
    for name in names:
        text = str(model.stages[name])
        again = Parser(make_context(), text).parse_module()
        again.verify()
        assert str(again) == text, name
    assert {"import", "load", "lowered", "allocated"} <= model.times.keys()
    assert all(seconds >= 0 for seconds in model.times.values())


def test_dump_writes_every_stage(tmp_path: Path):
    model = glow.compile(small_network(9), symbols={"batch": 1})
    written = model.dump_stages(tmp_path / "new" / "folder")
    names = [f"{i:02}-{name}.mlir" for i, name in enumerate(model.stages)]
    assert [p.name for p in written[: len(names)]] == names
    for path, name in zip(written, model.stages, strict=False):
        # the files refer to constants in a file beside them, and say which stage they are
        texts = path.read_text(), str(model.stages[name])
        found, shown = (re.sub(r"#glow.blob<[^>]*>", "", text) for text in texts)
        assert found.splitlines()[1:] == shown.splitlines()[1:]
    *_, code, weights = written
    assert code.suffix == ".ll"
    assert "define void @glow_main" in code.read_text()
    assert weights.name == "weights.safetensors"


def test_memory_plan():
    model = glow.compile(small_network(11), symbols={"batch": 1})
    plan = model.memory
    assert plan is not None
    assert plan.arena_bytes >= plan.lower_bound > 0
    assert plan.weight_bytes >= 4 * (8 * 27 + 8 + 160 * 7 + 7)
    for i, buffer in enumerate(plan.buffers):
        assert 0 <= buffer.offset <= buffer.offset + buffer.size <= plan.arena_bytes
        assert buffer.first < buffer.last
        assert not any(buffer.overlaps(other) for other in plan.buffers[:i])
    assert glow.compile(graph(), "interpreter").memory is None


@dataclass(frozen=True)
class CountingPass(ModulePass):
    """Counts its runs in the module, or breaks it."""

    name = "test-count"
    mode: str = "count"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.mode == "raise":
            for _ in each(op.body.block.first_op.body.block.ops):  # pyright: ignore
                raise KeyError("lost")
        if self.mode == "break":
            main = op.body.block.first_op
            node = main.body.block.first_op  # pyright: ignore
            node.properties["nonsense"] = IntegerAttr(1, i64)  # pyright: ignore
        count = op.attributes.get("test.count", IntegerAttr(0, i64))
        assert isinstance(count, IntegerAttr)
        op.attributes["test.count"] = IntegerAttr(count.value.data + 1, i64)


class FakeBackend(Backend):
    """Runs nothing; its stages are those given."""

    name = "fake"

    def __init__(self, *stages: Stage):
        self._stages = stages

    def claims(self) -> Sequence[Claim]:
        return ()

    def stages(self) -> Sequence[Stage]:
        return self._stages

    def compile(self, stages: Mapping[str, ModuleOp]) -> FakeBackend:
        stages[[*stages][-1]]
        return self

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return list(inputs)


@pytest.fixture
def counting(monkeypatch):
    monkeypatch.setitem(multiverse().all_passes, "test-count", lambda: CountingPass)


@pytest.mark.usefixtures("counting")
def test_bulky_stages_are_recomputed_and_others_kept():
    def count(module: ModuleOp) -> int:
        found = module.attributes.get("test.count")
        return found.value.data if isinstance(found, IntegerAttr) else 0

    model = glow.compile(
        graph(),
        FakeBackend(
            Stage("a", "test-count,test-count"),
            Stage("b", "test-count", bulky=True),
            Stage("c", "test-count", bulky=True),
            Stage("d", "test-count"),
        ),
    )
    for _ in range(2):
        for name, expected in {"c": 4, "imported": 0, "d": 5, "a": 2, "b": 3}.items():
            assert count(model.stages[name]) == expected
    assert model.stages["a"] is model.stages["a"]
    assert model.stages["d"] is model.stages["d"]
    assert model.stages["b"] is not model.stages["b"]
    assert [(name, count(m)) for name, m in model.stages.walk()] == [
        ("imported", 0),
        ("a", 2),
        ("b", 3),
        ("c", 4),
        ("d", 5),
    ]


@pytest.mark.usefixtures("counting")
def test_a_failing_pass_is_named_with_the_operator():
    failing = FakeBackend(Stage("stage", "canonicalize,test-count{mode=raise}"))
    with pytest.raises(glow.CompileError, match=r"test-count failed at glow\.add.*KeyError.*lost"):
        glow.compile(graph(), failing)


@pytest.mark.usefixtures("counting")
def test_invalid_ir_is_reported_with_the_pass(monkeypatch):
    breaking = Stage("stage", "test-count{mode=break}")
    message = r"after test-count \(stage stage\): glow\.add.*nonsense"
    with pytest.raises(glow.CompileError, match=message):
        glow.compile(graph(), FakeBackend(breaking))
    with pytest.raises(glow.CompileError, match=message):
        glow.compile(graph(), FakeBackend(breaking, Stage("later", "dce")))
    glow.compile(graph(), FakeBackend(breaking), verify=False)
    bulky = Stage("stage", "test-count{mode=break}", bulky=True)
    glow.compile(graph(), FakeBackend(bulky))
    with pytest.raises(glow.CompileError, match=message):
        glow.compile(graph(), FakeBackend(bulky), verify=True)
    monkeypatch.setenv("GLOW_VERIFY", "1")
    with pytest.raises(glow.CompileError, match=message):
        glow.compile(graph(), FakeBackend(bulky))


def test_a_wrong_pipeline_is_explained():
    with pytest.raises(glow.GlowError, match="no-such-pass"):
        glow.compile(graph(), FakeBackend(Stage("stage", "no-such-pass")))
