"""Claims, stages, programs and results that backends of other packages may get wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import glow
import numpy as np
import pytest
from glow.errors import CompileError, DeviceError, GlowError
from glow.glow_dialects.claims import Claim, Elements, claims, same_type
from glow.glow_dialects.glow.activation import ReluOp
from glow.glow_dialects.glow.arithmetic import AddOp
from glow.interface.backend import Backend, DeviceMemory, Rates, Stage
from glow.interface.program import Program
from glow.passes.partition.devices import Configuration, Device
from glow.runtime.interpreter_backend import InterpretedProgram
from glow.tests.support.graph_text import parse
from xdsl.dialects.builtin import ModuleOp, f32

GRAPH = """
    func.func @main(%x: tensor<3x1x7xf32> {glow.name = "x"})
        -> (tensor<3x1x7xf32> {glow.name = "y"}) {
      %y = glow.relu %x : (tensor<3x1x7xf32>) -> tensor<3x1x7xf32>
      func.return %y : tensor<3x1x7xf32>
    }"""


class Fake(Backend):
    """A backend whose methods return what a test says; by default it interprets."""

    name = "fake"

    def __init__(
        self,
        claimed: object = (),
        named: object = (),
        compiled: Callable[[Mapping[str, ModuleOp]], object] | None = None,
    ):
        self._claimed, self._named, self._compiled = claimed, named, compiled

    def claims(self) -> Sequence[Claim]:
        return self._claimed  # pyright: ignore

    def stages(self) -> Sequence[Stage]:
        return self._named  # pyright: ignore

    def compile(self, stages: Mapping[str, ModuleOp]) -> Program:
        make = self._compiled or (lambda given: InterpretedProgram(given["imported"]))
        return make(stages)  # pyright: ignore


class Changed:
    """A program whose results are changed after they were computed."""

    def __init__(self, module: ModuleOp, change: Callable[[list[np.ndarray]], Any]):
        self._right, self._change = InterpretedProgram(module), change

    def run(self, inputs: Sequence[np.ndarray]) -> Any:
        return self._change(self._right.run(inputs))


def wrong_elements(elements: Any) -> Callable[[], object]:
    return lambda: claims(AddOp, elements=elements)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (wrong_elements(f32), r"elements of a claim of glow.add to be alternatives.* found f32"),
        (wrong_elements([f32]), r"elements of a claim of glow.add to be alternatives.* found f32"),
        (wrong_elements(Elements((f32,), (f32,))), r"a claim of glow.add to be alternatives"),
        (lambda: Elements(f32, (f32,)), "expected Elements with a tuple of types"),  # pyright: ignore
        (lambda: Elements((f32,), ()), "expected Elements with a tuple of types"),
        (lambda: Elements(("f32",), (f32,)), "expected Elements with"),  # pyright: ignore
        (lambda: Claim("glow.add"), "a claim of an operator's class, found 'glow.add'"),  # pyright: ignore
        (lambda: claims(f32), "a claim of an operator's class, found"),  # pyright: ignore
    ],
)
def test_claims_of_wrong_types(make: Callable[[], object], message: str) -> None:
    with pytest.raises(GlowError, match=message):
        make()


@pytest.mark.parametrize("size", ["64K", -1, 0.5])
def test_memories_of_no_size(size: Any) -> None:
    with pytest.raises(GlowError, match=r"a number of bytes, or None, of sram, found"):
        DeviceMemory("sram", size)


@pytest.mark.parametrize("memories", [(), None, [65536]])
def test_memories_that_are_none(memories: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fake, "memories", lambda self: memories)
    with pytest.raises(
        GlowError, match=r"memor.* from memories\(\) of the backend fake|Memory from"
    ):
        Fake().main_memory()


@pytest.mark.parametrize("rates", [(0, 1), (1, 0), (-1, 1), (1, 1, -0.5), (float("nan"), 1)])
def test_rates_that_are_none(rates: Sequence[float]) -> None:
    with pytest.raises(GlowError, match=r"expected rates above 0.* found Rates\("):
        Rates(*rates)


@pytest.mark.parametrize("claimed", [None, AddOp, [AddOp], ["glow.add"]])
def test_what_is_no_claim(claimed: object) -> None:
    with pytest.raises(GlowError, match=r"Claim from claims\(\) of the backend fake, found"):
        assert Fake(claimed).claims_by_operator()


def test_a_condition_that_raises() -> None:
    backend = Fake(claims(ReluOp, elements=same_type(f32), when=lambda c: c.shape(5) == ()))
    configuration = Configuration((Device("fake0", backend),))
    with glow.HostManager(configuration) as host:
        future = host.add_network("n", parse(GRAPH))
        with pytest.raises(CompileError, match=r"fake for glow.relu \(tensor<3x1x7xf32>\) raises"):
            future.result()


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (None, r"expected a sequence of Stage from stages\(\) of the backend fake, found None"),
        (["canonicalize"], "expected only Stage .* found 'canonicalize'"),
        ([Stage("a", "cse"), Stage("a", "dce")], "stages with different names.* found 'a'"),
        ([Stage("imported", "cse")], "none of them 'imported'.* found 'imported'"),
    ],
)
def test_wrong_stages(named: object, message: str) -> None:
    with pytest.raises(GlowError, match=message):
        glow.compile(parse(GRAPH), backend=Fake(named=named))


@pytest.mark.parametrize(
    ("compiled", "message"),
    [
        (lambda stages: stages["lost"], "KeyError: 'lost'"),
        (lambda stages: 1 // 0, "ZeroDivisionError"),
        (lambda stages: None, "to return a program .* found None"),
    ],
)
def test_a_compilation_that_fails(compiled: Callable[..., object], message: str) -> None:
    backend = Fake(claims(ReluOp), compiled=compiled)
    with pytest.raises(CompileError, match=f"the backend fake.*{message}"):
        glow.compile(parse(GRAPH), backend=backend)
    with glow.HostManager(Configuration((Device("fake0", backend),))) as host:
        future = host.add_network("n", parse(GRAPH))
        with pytest.raises(CompileError, match=f"on device fake0: .*{message}"):
            future.result()


WRONG_RESULTS: dict[str, tuple[Callable[[list[np.ndarray]], Any], str]] = {
    "none": (lambda found: None, "expected a list of results, found NoneType"),
    "alone": (lambda found: found[0], "expected a list of results, found ndarray"),
    "few": (lambda found: [], "expected 1 result, found 0"),
    "many": (lambda found: found * 2, "expected 1 result, found 2"),
    "wide": (lambda found: [found[0].astype("f8")], r"float32\[3, 1, 7\].* found float64"),
    "flat": (lambda found: [found[0].reshape(21)], r"float32\[3, 1, 7\].* found float32\[21\]"),
    "lists": (lambda found: [found[0].tolist()], "found list"),
}


@pytest.mark.parametrize("kind", sorted(WRONG_RESULTS))
def test_results_that_are_not_as_declared(kind: str, rng: np.random.Generator) -> None:
    change, message = WRONG_RESULTS[kind]
    backend = Fake(claims(ReluOp), compiled=lambda stages: Changed(stages["imported"], change))
    x = rng.standard_normal((3, 1, 7), np.float32)
    model = glow.compile(parse(GRAPH), backend=backend)
    for run in (lambda: model(x), lambda: model.run_into([np.empty_like(x)], {"x": x})):
        with pytest.raises(DeviceError, match=f"wrong results of the backend fake: .*{message}"):
            run()
    with glow.HostManager(Configuration((Device("fake0", backend),))) as host:
        host.add_network("n", parse(GRAPH)).result()
        with pytest.raises(DeviceError, match=message):
            host.run("n", [x]).result()


def test_results_in_another_order_of_memory_are_right(rng: np.random.Generator) -> None:
    def turned(found: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        return tuple(map(np.asfortranarray, found))

    compiled = Fake(compiled=lambda stages: Changed(stages["imported"], turned))
    x = rng.standard_normal((3, 1, 7), np.float32)
    (y,) = glow.compile(parse(GRAPH), backend=compiled)(x)
    assert y.flags.c_contiguous
    np.testing.assert_array_equal(y, np.maximum(x, 0))


def test_a_single_element_is_an_array() -> None:
    text = """
        func.func @main(%x: tensor<7xf64> {glow.name = "x"}) -> (tensor<f64> {glow.name = "y"}) {
          %y = glow.reduce_mean %x axes [0] keep_dims false : (tensor<7xf64>) -> tensor<f64>
          func.return %y : tensor<f64>
        }"""
    (y,) = glow.compile(parse(text), backend="interpreter")(np.arange(7.0))
    assert type(y) is np.ndarray
    assert y == 3
