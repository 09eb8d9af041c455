"""
Networks that are split over devices, as IR, and their readers.

```mlir
func.func private @partition_0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {
    glow.device = "cpu0", glow.backend = "cpu", glow.cost = 1.0e-05 : f64,
    glow.weight_bytes = 64 : i64, glow.activation_bytes = 32 : i64} { ... }

func.func @main(%x: tensor<4xf32> {glow.name = "x"}) -> (tensor<4xf32> {glow.name = "y"}) {
  %a = func.call @partition_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %y = func.call @partition_1(%a) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
```

Each partition is a graph, and is called once. `@main` consists of calls, in an order in which they
can run; what they depend on are the values that they are given, so they form a graph without
cycles. Attributes of the module describe the devices (`glow.devices`) and links (`glow.links`), as
`partitioning.devices.configuration_of` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import SSAValue

from ...glow_dialects.elements import type_bytes
from ..graph.rewriting import failure
from ..visited_operation import each

DEVICE, BACKEND = "glow.device", "glow.backend"
"""Attributes of a partition: the device on which it runs, and the backend that compiles it."""
COST = "glow.cost"
"""Estimated seconds of a run of the partition."""
WEIGHT_BYTES, ACTIVATION_BYTES = "glow.weight_bytes", "glow.activation_bytes"
"""
The attributes with the memory of a partition: for its constants, and at most at once for the values
that it reads, computes and makes.
"""
MAIN = "main"


@dataclass(frozen=True)
class Source:
    """The source of a tensor of `@main`."""

    partition: int | None
    """The number of the partition that makes it; None for an argument of `@main`."""
    index: int
    """The number of the result of the partition, or of the argument."""


@dataclass(frozen=True)
class Partition:
    """A part of a network that runs on one device."""

    number: int
    """The place in the order of `@main`, from 0."""
    name: str
    device: str
    backend: str
    function: func.FuncOp
    inputs: tuple[Source, ...]
    """The source of each argument of the function, in order."""
    dependencies: tuple[int, ...]
    """The partitions whose results it reads, each once, in order. Their numbers are lower."""
    cost: float = 0.0
    """Estimated seconds."""
    weight_bytes: int = 0
    activation_bytes: int = 0

    @property
    def input_bytes(self) -> tuple[int, ...]:
        """Bytes of each argument."""
        return tuple(_bytes(t) for t in self.function.function_type.inputs)

    @property
    def output_bytes(self) -> tuple[int, ...]:
        """Bytes of each result."""
        return tuple(_bytes(t) for t in self.function.function_type.outputs)

    def module(self) -> ModuleOp:
        """
        Returns a copy of the partition as a network of its own, whose function is called `main`.
        """
        function = self.function.clone()
        function.properties["sym_name"] = StringAttr(MAIN)
        function.properties.pop("sym_visibility", None)
        return ModuleOp([function])


@dataclass(frozen=True)
class PartitionedNetwork:
    """The partitions of a network, in an order in which they can run."""

    main: func.FuncOp
    partitions: tuple[Partition, ...]
    outputs: tuple[Source, ...]
    """The source of each result of `@main`, in order."""

    def users(self, number: int) -> tuple[int, ...]:
        """Returns the partitions that read results of a partition."""
        return tuple(p.number for p in self.partitions if number in p.dependencies)


def is_partitioned(module: ModuleOp) -> bool:
    """Returns whether `@main` of a module calls partitions. Those of buffers call kernels."""
    main = _functions(module).get(MAIN)
    called = main is not None and len(main.body.blocks) == 1 and main.body.block.first_op
    if not isinstance(called, func.CallOp):
        return False
    return not any(isinstance(v.type, MemRefType) for v in (*called.operands, *called.results))


def read_partitions(module: ModuleOp) -> PartitionedNetwork:
    """
    Returns the partitions of a module, which are not changed.

    Raises CompileError, at the operation in question, if the module is not a partitioned network:
    `@main` must consist of calls of private functions with one block, each called once and with the
    attributes of a device.
    """
    functions = _functions(module)
    main = functions.get(MAIN)
    if main is None or len(main.body.blocks) != 1:
        raise failure(main or module, "expected a function @main of one block")
    *calls, last = main.body.block.ops or [main]
    if not isinstance(last, func.ReturnOp):
        raise failure(main, "expected @main to end with func.return")
    sources: dict[SSAValue, Source] = {a: Source(None, a.index) for a in main.body.block.args}
    partitions: list[Partition] = []
    called: set[str] = set()
    for number, op in enumerate(each(calls)):
        if not isinstance(op, func.CallOp):
            raise failure(op, "expected @main to consist of calls of partitions")
        partition = _read(number, op, functions, sources)
        if partition.name in called:
            raise failure(
                op, f"expected a call of each partition, found another of @{partition.name}"
            )
        called.add(partition.name)
        partitions.append(partition)
        sources |= {r: Source(number, i) for i, r in enumerate(op.results)}
    if unused := [f for name, f in functions.items() if name not in {*called, MAIN}]:
        raise failure(unused[0], "expected every function to be called by @main")
    return PartitionedNetwork(main, tuple(partitions), tuple(sources[v] for v in last.operands))


def _read(
    number: int,
    call: func.CallOp,
    functions: dict[str, func.FuncOp],
    sources: dict[SSAValue, Source],
) -> Partition:
    name = call.callee.string_value()
    function = functions.get(name)
    if function is None or name == MAIN or len(function.body.blocks) != 1:
        raise failure(call, f"expected a function @{name} of one block beside @main")
    types = function.function_type
    given = [v.type for v in call.operands], [v.type for v in call.results]
    if given != ([*types.inputs], [*types.outputs]):
        raise failure(call, f"expected a call of the type of @{name}, which is {types}")
    if function.sym_visibility != StringAttr("private"):
        raise failure(function, "expected a partition to be private")
    if not all(v in sources for v in call.operands):
        raise failure(call, "expected operands that are arguments or results of earlier calls")
    inputs = tuple(sources[v] for v in call.operands)
    before = sorted({s.partition for s in inputs if s.partition is not None})
    return Partition(
        number,
        name,
        _text(function, DEVICE),
        _text(function, BACKEND),
        function,
        inputs,
        tuple(before),
        _number(function, COST),
        int(_number(function, WEIGHT_BYTES)),
        int(_number(function, ACTIVATION_BYTES)),
    )


def _functions(module: ModuleOp) -> dict[str, func.FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}


def _text(function: func.FuncOp, name: str) -> str:
    found = function.attributes.get(name)
    if not isinstance(found, StringAttr) or not found.data:
        raise failure(function, f"expected {name} to be a name, found {found}")
    return found.data


def _number(function: func.FuncOp, name: str) -> float:
    """Returns an attribute that may be missing, as in a module that was written by hand."""
    found = function.attributes.get(name)
    if found is None:
        return 0
    if not isinstance(found, IntegerAttr | FloatAttr) or not found.value.data >= 0:
        raise failure(function, f"expected {name} to be a number of at least 0, found {found}")
    return found.value.data


def _bytes(t: object) -> int:
    assert isinstance(t, TensorType)
    return type_bytes(t)
