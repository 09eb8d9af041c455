"""Networks split over devices: the same results, every node once, no cycles, within memory."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations
from math import inf

import numpy as np
import pytest
from glow.errors import CompileError, GlowError
from glow.glow_dialects.claims import Elements, Quantized, Schema, claims
from glow.glow_dialects.glow import activation, arithmetic
from glow.glow_dialects.glow.constant import ConstantOp
from glow.glow_dialects.glow.quantization import DequantizeOp, QuantizeOp
from glow.interface.backend import Rates
from glow.passes.partition.choices import around_bytes
from glow.passes.partition.cuts import _best_cuts, _crossing
from glow.passes.partition.devices import (
    Configuration,
    Device,
    Link,
    of_backends,
)
from glow.passes.partition.inline_partitions import inline_partitions
from glow.passes.partition.partition import partition
from glow.passes.partition.partitions import (
    PartitionedNetwork,
    Source,
    read_partitions,
)
from glow.passes.partition.plans import Plan, activation_bytes, excess, form
from glow.passes.partition.strategies import STRATEGIES
from glow.passes.partition.units import unit_graph
from glow.passes.partition.verify_partitions import verify_partitions
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import parse, run
from glow.tests.support.limited_backend import LimitedBackend
from glow.tests.support.partition_graphs import layered_graph, layered_inputs
from glow.tests.support.random_graphs import random_graph, random_inputs
from glow.tests.unit.passes_graph.partition_problems import (
    INTERPRETER,
    SEEDS,
    devices,
    main_of,
    problem_from,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr, i8
from xdsl.ir import SSAValue


def placed(module: ModuleOp) -> Counter[str]:
    """
    Returns how often each node occurs that must not be repeated, by the name of its result: those
    that depend on an argument, but for `glow.dequantize`.
    """
    found: Counter[str] = Counter()
    for function in module.ops:
        assert isinstance(function, func.FuncOp)
        variable: set[SSAValue] = {*function.body.block.args}
        for op in function.body.block.ops:
            if any(v in variable for v in op.operands):
                variable.update(op.results)
                if not isinstance(op, DequantizeOp | func.ReturnOp | func.CallOp):
                    found[f"{op.name} %{op.results[0].name_hint}"] += 1
    return found


def check_network(before: ModuleOp, after: ModuleOp, configuration: Configuration) -> None:
    """Checks the structure of a partitioned network, by definition."""
    after.verify()
    verify_partitions(after, configuration)
    assert placed(before) == placed(after)
    network = read_partitions(after)
    for part in network.partitions:
        assert all(d < part.number for d in part.dependencies)
    inner = {id(p.function) for p in network.partitions}
    assert {id(f) for f in after.ops} - inner == {id(network.main)}
    for device in configuration.devices:
        own = [p for p in network.partitions if p.device == device.name]
        needed = sum(p.weight_bytes for p in own)
        needed += max((p.activation_bytes for p in own), default=0)
        assert device.memory is None or needed <= device.memory


def check_results(before: ModuleOp, after: ModuleOp, inputs: dict[str, np.ndarray]) -> None:
    """Checks that the network computes the same numbers after inlining."""
    inlined = after.clone()
    inline_partitions(inlined)
    inlined.verify()
    assert len(list(inlined.ops)) == 1
    expected, found = interpret(before, inputs), interpret(inlined, inputs)
    assert expected.keys() == found.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def split(
    module: ModuleOp, configuration: Configuration, strategy: str = "time"
) -> tuple[ModuleOp, PartitionedNetwork]:
    after = module.clone()
    partition(after, configuration, strategy)
    return after, read_partitions(after)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(1, 40), st.sampled_from(sorted(STRATEGIES)))
def test_random_graphs(seed: int, steps: int, strategy: str) -> None:
    before, configuration = layered_graph(seed, steps), devices(seed)
    after, _ = split(before, configuration, strategy)
    check_network(before, after, configuration)
    check_results(before, after, layered_inputs(seed))


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.integers(1, 25), st.sampled_from(sorted(STRATEGIES)))
def test_random_operators(seed: int, steps: int, strategy: str) -> None:
    before, configuration = random_graph(seed, steps), devices(seed)
    after, _ = split(before, configuration, strategy)
    verify_partitions(after, configuration)
    check_results(before, after, random_inputs(before, seed))


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.integers(1, 40), st.sampled_from(sorted(STRATEGIES)))
def test_memory_is_respected(seed: int, steps: int, strategy: str) -> None:
    before = layered_graph(seed, steps)
    whole = read_partitions(split(before, of_backends(["interpreter"]))[0]).partitions
    needed = sum(p.weight_bytes + p.activation_bytes for p in whole)
    memory = random.Random(seed).randint(needed // 4, needed)
    configuration = of_backends(["interpreter"] * 4, [memory])
    after = before.clone()
    try:
        partition(after, configuration, strategy)
    except CompileError:
        problem = problem_from(before, configuration)
        largest = max(
            problem.weights[u] + around_bytes(problem, u) for u in range(len(problem.costs))
        )
        assert memory < needed / 2 + largest
        return
    check_network(before, after, configuration)


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.integers(2, 30), st.sampled_from(sorted(STRATEGIES)))
def test_annotations_are_respected(seed: int, steps: int, strategy: str) -> None:
    before, rng = layered_graph(seed, steps), random.Random(seed)
    configuration = of_backends(["interpreter"] * 3)
    units = unit_graph(main_of(before).body.block).units
    asked: dict[str, str] = {}
    named: dict[str, str] = {}
    for unit in rng.sample(units, rng.randint(1, len(units))):
        name = unit.nodes[0].results[0].name_hint or ""
        asked[name] = f"interpreter{rng.randrange(3)}"
        if rng.random() < 0.5:
            named[name] = asked[name]
        else:
            unit.nodes[0].attributes["glow.device"] = StringAttr(asked[name])
    configuration = replace(configuration, place=named)
    after, network = split(before, configuration, strategy)
    check_network(before, after, configuration)
    for part in network.partitions:
        for op in part.function.body.block.ops:
            hint = op.results[0].name_hint if op.results else None
            if hint in asked and not isinstance(op, DequantizeOp | ConstantOp):
                assert part.device == asked[hint]


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 40), st.integers(1, 4))
def test_any_choice_of_devices_has_partitions_without_cycles(
    seed: int, steps: int, count: int
) -> None:
    problem = problem_from(layered_graph(seed, steps), of_backends(["interpreter"] * count))
    rng = random.Random(seed)
    choice = [rng.randrange(count) for _ in problem.costs]
    groups = form(problem, choice)
    assert sorted(u for g in groups for u in g.units) == list(range(len(choice)))
    group_of = {u: i for i, g in enumerate(groups) for u in g.units}
    for unit in range(len(choice)):
        assert groups[group_of[unit]].device == choice[unit]
        assert all(group_of[p] <= group_of[unit] for _, p in problem.before(unit))


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(1, 30))
def test_activations_are_those_alive_at_once(seed: int, steps: int) -> None:
    problem = problem_from(layered_graph(seed, steps), of_backends(["interpreter"]))
    rng = random.Random(seed)
    units = sorted(rng.sample(range(len(problem.costs)), rng.randint(1, len(problem.costs))))
    members, peak = set(units), 0
    for now in units:
        alive = 0
        for v, value in enumerate(problem.values):
            made, read = value.producer in members, members & set(value.users)
            outside = value.returned or set(value.users) - members
            begin = value.producer if made and not outside else -1
            end = inf if made and outside else max(read, default=-2)
            if not made and read:
                begin, end = -1, inf
            assert begin is not None
            alive += value.bytes * ((made or bool(read)) and begin <= now <= end)
            assert v < len(problem.values)
        peak = max(peak, alive)
    assert activation_bytes(problem, units) == peak


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_cuts_are_those_with_the_least_bytes_across(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 7))
    pieces = data.draw(st.integers(1, 3))
    crossing = [0, *data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))]
    begins = [sorted(data.draw(st.integers(0, e)) for e in range(count + 1)) for _ in range(pieces)]

    class Table:
        def __init__(self, first: list[int]):
            self.begin = first.__getitem__

    found = _best_cuts(crossing, [Table(b) for b in begins])  # pyright: ignore
    best = inf
    for inner in combinations(sorted([*range(count + 1)] * pieces), pieces - 1):
        places = [0, *inner, count]
        if all(begins[i][places[i + 1]] <= places[i] for i in range(pieces)):
            best = min(best, sum(crossing[p] for p in inner if p < count))
    assert (found is None) == (best == inf)
    if found is not None:
        assert sum(crossing[p] for p in found if p < count) == best


def test_balanced_pieces_are_of_similar_size() -> None:
    before = layered_graph(5, 60, 31)
    configuration = of_backends(["interpreter"] * 3)
    _, network = split(before, configuration, "memory")
    used = [
        sum(p.weight_bytes for p in network.partitions if p.device == d.name)
        for d in configuration.devices
    ]
    assert max(used) < 1.5 * sum(used) / 3


def test_bytes_across_places_are_counted_once() -> None:
    module = parse("""
        func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %a = glow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
          %b = glow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
          %c = glow.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          %d = glow.sub %c, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          func.return %d : tensor<4xf32>
        }""")
    problem = problem_from(module, of_backends(["interpreter"]))
    assert _crossing(problem, range(4)) == [0, 16, 32, 16, 0]


TRIPLE = """
    func.func @main(%x: tensor<3x!quant.uniform<i8:f32, 0.5>>, %z: tensor<3xf32>)
        -> (tensor<3x!quant.uniform<i8:f32, 0.5>>, tensor<3xf32>) {
      %r = glow.dequantize %x : (tensor<3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3xf32>
      %t = glow.tanh %r : (tensor<3xf32>) -> tensor<3xf32>
      %n = glow.neg %t : (tensor<3xf32>) -> tensor<3xf32>
      %q = glow.quantize %n : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.5>>
      %p = glow.tanh %z : (tensor<3xf32>) -> tensor<3xf32>
      func.return %q, %p : tensor<3x!quant.uniform<i8:f32, 0.5>>, tensor<3xf32>
    }"""


def integer_device() -> Device:
    q = Quantized(i8, Schema.POWER_OF_TWO)
    table = claims(activation.TanhOp, arithmetic.NegOp, elements=[Elements((q,), (q,))])
    return Device("integers", LimitedBackend(claimed=table, rates=Rates(1e12, 1e12)))


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_what_integers_can_compute_goes_to_the_device_for_integers(strategy: str) -> None:
    slow = Device("all", INTERPRETER, rates=Rates(1e3, 1e3))
    module = parse(TRIPLE)
    _, network = split(module, Configuration((slow, integer_device())), strategy)
    assert {p.device for p in network.partitions} == {"integers", "all"}
    for part in network.partitions:
        names = {op.name for op in part.function.body.block.ops}
        quantized = {"glow.dequantize", "glow.tanh", "glow.neg", "glow.quantize", "func.return"}
        assert names == (quantized if part.device == "integers" else {"glow.tanh", "func.return"})


def test_nodes_that_nobody_computes_are_listed() -> None:
    with pytest.raises(CompileError, match=r"none of the devices integers can compute 1 node: %p"):
        split(parse(TRIPLE), Configuration((integer_device(),)))


def test_impossible_annotations_are_errors() -> None:
    configuration = Configuration((Device("all", INTERPRETER), integer_device()))

    def place(**names: str) -> Configuration:
        return replace(configuration, place=names)

    with pytest.raises(CompileError, match=r"is to be on integers, which cannot compute glow.tanh"):
        split(parse(TRIPLE), place(p="integers"))
    with pytest.raises(CompileError, match="there is no device 'vta9'; there are all, integers"):
        split(parse(TRIPLE), place(p="vta9"))
    with pytest.raises(CompileError, match="move together, but are to be on integers and all"):
        split(parse(TRIPLE), place(t="integers", n="all"))
    with pytest.raises(GlowError, match="cannot place nothing"):
        split(parse(TRIPLE), place(nothing="all"))


def test_a_fast_device_gets_work_only_if_the_way_there_is_short() -> None:
    def seconds(link: Link) -> tuple[set[str], float]:
        fast = Device("fast", LimitedBackend([arithmetic.ExpOp], Rates(1e12, 1e12)))
        slow = Device("slow", INTERPRETER, rates=Rates(1e6, 1e6))
        pair = frozenset(("fast", "slow"))
        _, network = split(parse(CHAIN), Configuration((slow, fast), {pair: link}))
        return {p.device for p in network.partitions}, sum(p.cost for p in network.partitions)

    assert seconds(Link(1e9, 1e-6))[0] == {"fast", "slow"}
    assert seconds(Link(1e3, 1e-6))[0] == {"slow"}


CHAIN = """
    func.func @main(%x: tensor<500xf32>) -> tensor<500xf32> {
      %a = glow.neg %x : (tensor<500xf32>) -> tensor<500xf32>
      %b = glow.exp %a : (tensor<500xf32>) -> tensor<500xf32>
      %c = glow.abs %b : (tensor<500xf32>) -> tensor<500xf32>
      func.return %c : tensor<500xf32>
    }"""


@settings(max_examples=15, deadline=None)
@given(SEEDS, st.integers(5, 30))
def test_time_is_no_longer_than_that_of_other_strategies(seed: int, steps: int) -> None:
    module, configuration = layered_graph(seed, steps), devices(seed)
    problem = problem_from(module, configuration)
    found = {name: make(problem) for name, make in STRATEGIES.items()}
    times = {n: Plan(problem, g).timing().seconds for n, g in found.items() if g is not None}
    assert times["time"] <= min(times.values()) * (1 + 1e-9)
    assert not excess(problem, found["time"] or [])


def test_text_of_a_partitioned_network_parses_back() -> None:
    configuration = of_backends(["interpreter", "cpu", "interpreter"], [10**6])
    after, network = split(layered_graph(3, 20), configuration, "memory")
    again = parse(str(after))
    assert str(again) == str(after)
    verify_partitions(again)
    assert len(read_partitions(again).partitions) == len(network.partitions)


def test_inlined_and_cleaned_is_what_it_was() -> None:
    before = layered_graph(11, 30)
    after, _ = split(before, devices(11), "capability")
    found = run("glow-inline-partitions,cse,dce", after)
    expected = run("cse,dce", before.clone())
    names = Counter(op.name for op in expected.walk())
    assert Counter(op.name for op in found.walk()) == names
    assert QuantizeOp.name in names


def test_partitions_run_one_by_one_as_the_runtime_does() -> None:
    before, inputs = layered_graph(17, 40), layered_inputs(17)
    _, network = split(before, devices(17), "capability")
    made: dict[Source, np.ndarray] = {
        Source(None, i): array for i, array in enumerate(inputs.values())
    }
    for part in network.partitions:
        arrays = [made[source] for source in part.inputs]
        assert part.input_bytes == tuple(a.nbytes for a in arrays)
        results = list(interpret(part.module(), arrays).values())
        assert part.output_bytes == tuple(a.nbytes for a in results)
        made |= {Source(part.number, i): array for i, array in enumerate(results)}
        assert part.number not in network.users(part.number)
        assert all(part.number in network.users(d) for d in part.dependencies)
    for source, array in zip(network.outputs, interpret(before, inputs).values(), strict=True):
        np.testing.assert_array_equal(made[source], array)


def test_merging_on_one_device_is_seen_on_others() -> None:
    """Merging q and p lets b wait for c, so that b and c cannot be merged in that order."""
    module = parse("""
        func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
          %q = glow.neg %x : (tensor<2xf32>) -> tensor<2xf32>
          %b = glow.abs %q : (tensor<2xf32>) -> tensor<2xf32>
          %r = glow.exp %x : (tensor<2xf32>) -> tensor<2xf32>
          %c = glow.abs %r : (tensor<2xf32>) -> tensor<2xf32>
          %p = glow.neg %c : (tensor<2xf32>) -> tensor<2xf32>
          %z = glow.tanh %x : (tensor<2xf32>) -> tensor<2xf32>
          func.return %b, %p, %z : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
        }""")
    problem = problem_from(module, of_backends(["interpreter"] * 4))
    problem.costs = [[seconds] * 4 for seconds in (1e-6, 1e-6, 1e-2, 1e-6, 1e-6, 1.0)]
    groups = form(problem, [0, 1, 2, 1, 0, 3])
    assert sorted(u for g in groups for u in g.units) == list(range(6))
    assert [0, 4] in [g.units for g in groups]
    assert [1, 3] not in [g.units for g in groups]
