"""
The functions that object code calls, for every operator and element type: only those that
docs/targets.md lists.

LLVM turns what a processor has no instruction for into calls of the C library or of the compiler's
runtime, some of which a process may not have.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from glow.frontend.onnx import import_onnx
from glow.glow_dialects.glow import DataParallel, Node
from glow.glow_dialects.glow.logic import CastOp, SelectOp
from glow.glow_dialects.operator import element_of, with_shape
from glow.glow_dialects.operators import OPERATORS
from glow.lowering.llvm.translate import translate_module
from glow.lowering.target import DEFAULT_CPU, Target, find_target
from glow.lowering.threads import llvm_text
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.jit import compile_object, support_object
from glow.runtime.stages import Stages
from glow.tests.support.native import apply, kernels_pipeline
from glow.tests.support.seeds import generator
from glow.tools.conformance.cases import Case
from glow.tools.conformance.check import network
from glow.tools.conformance.plan import plan
from onnx import TensorProto, helper
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    FunctionType,
    IntegerType,
    ModuleOp,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region
from xdsl.utils.exceptions import VerifyException

BASELINES = {"x86-64": 8, "cortex-a53": 1}
"""The oldest CPUs, and how many elements: vectors or scalars."""
U32, U64 = (IntegerType(width, Signedness.UNSIGNED) for width in (32, 64))
TYPES = (f16, bf16, f32, f64, i1, i32, i64, U64)
FURTHER = (i8, i16, U32)
"""These differ from others in conversions only, and smaller unsigned ones not even there."""
LINKER = {"_GLOBAL_OFFSET_TABLE_"}


def symbols(data: bytes) -> tuple[set[str], set[str]]:
    """
    Returns the names that an ELF object of 64 bits defines, and those that it leaves to others.
    """
    sections = {s.name(): s.data() for s in llvm.ObjectFileRef.from_data(data).sections()}
    names = {key.decode() if isinstance(key, bytes) else key: d for key, d in sections.items()}
    table, strings = names[".symtab"], names[".strtab"]
    defined: set[str] = set()
    undefined: set[str] = set()
    for start, info, _, section, _, _ in struct.iter_unpack("<IBBHQQ", table):
        if info >> 4:  # not local
            name = strings[start : strings.index(b"\0", start)].decode()
            (defined if section else undefined).add(name)
    return defined, undefined


def called(objects: Iterable[bytes]) -> set[str]:
    """Returns the symbols that objects leave to libraries when they are linked together."""
    found = [symbols(data) for data in objects]
    own = set().union(*(defined for defined, _ in found))
    return set().union(*(undefined for _, undefined in found)) - own - LINKER


@pytest.fixture(scope="module")
def documented() -> tuple[set[str], set[str]]:
    """Returns the names that docs/targets.md lists: of libraries, and of the compiler's runtime."""
    text = (Path(__file__).resolve().parents[3] / "docs" / "targets.md").read_text()
    section = text.split("## What object code calls")[1].split("\n## ")[0]
    listed = [item.partition(": ")[2] for item in f"\n{section}".split("\n- ")[1:]]
    libm, threads, runtime = (set(re.findall(r"`(\w+)`", line)) for line in listed)
    return libm | threads, runtime


def rows(operator: type[Node]) -> Iterator[tuple[Sequence[Attribute], Sequence[Attribute]]]:
    """Returns element types of operands, and of results if these do not follow."""
    if operator is CastOp:
        pairs = itertools.product((*TYPES, *FURTHER), repeat=2)
        yield from (([a], [b]) for a, b in pairs)
        return
    count = len(operator.get_irdl_definition().operands)
    for t in TYPES:
        yield ([i1, t, t] if operator is SelectOp else [t] * count), []


def all_on_elements(count: int) -> ModuleOp:
    """Returns a graph of every data-parallel operator on all element types that it admits."""
    block, results = Block(), []
    for operator in OPERATORS:
        if not issubclass(operator, DataParallel):
            continue
        for operands, declared in rows(operator):
            arguments = [
                block.insert_arg(with_shape(t, [count]), len(block.args)) for t in operands
            ]
            types = [with_shape(t, [count]) for t in declared] or None
            try:
                node = operator.of(*arguments, result_types=types)
                node.verify()
            except VerifyException:
                continue
            block.add_op(node)
            results += node.results
    block.add_op(func.ReturnOp(*results))
    t = FunctionType.from_lists([a.type for a in block.args], [r.type for r in results])
    return ModuleOp([func.FuncOp("main", t, Region(block))])


def object_of_all(target: Target, count: int) -> bytes:
    machine = target.describe()
    module = all_on_elements(count)
    steps = (
        "glow-irgen,glow-eliminate-copies,glow-allocate",
        kernels_pipeline(machine),
        "glow-expand-math,glow-convert-to-llvm",
    )
    apply(module, ",".join(steps), verify=False)
    return compile_object(translate_module(module), target)


@pytest.mark.parametrize("cpu", BASELINES)
def test_elementwise_operators(cpu: str, documented: tuple[set[str], set[str]]):
    libraries, runtime = documented
    target = find_target(cpu)
    found = called([object_of_all(target, BASELINES[cpu])])
    assert found - runtime <= libraries
    # the check sees calls at all, and what is listed is needed
    assert {"exp", "fmod"} <= found
    support = support_object(target)
    provided = set() if support is None else symbols(support)[0]
    assert found & runtime <= provided <= runtime


def one_of_each(backend: CpuBackend) -> list[Case]:
    """
    Returns a case of each operator that is not data-parallel, for each combination of element types
    of its operands and results.
    """
    found: dict[tuple[object, ...], Case] = {}
    for subject in plan(backend, int(generator().integers(2**32))):
        if not issubclass(subject.operator, DataParallel):
            for case in subject.cases:
                types = [*case.call.operands, *case.call.results]
                found.setdefault((subject.operator, *map(element_of, types)), case)
    return list(found.values())


@pytest.mark.slow
@pytest.mark.parametrize(("cpu", "threads"), [("x86-64", 2), ("cortex-a53", 1)])
def test_other_kernels_and_threads(
    cpu: str, threads: int, documented: tuple[set[str], set[str]], monkeypatch: pytest.MonkeyPatch
):
    """Objects of a whole program are complete but for libraries."""
    libraries, _ = documented
    if cpu == "x86-64":
        # passes that ask for the backend by name are to find this one
        monkeypatch.setenv(DEFAULT_CPU, cpu)
    backend = CpuBackend(threads=threads, target_cpu=cpu, cache=False, timed=True)
    cases = one_of_each(backend)
    assert len(cases) > 400
    module, _ = network(cases)
    found = called(backend.objects(Stages(module, backend.stages(), False)))
    assert found <= libraries
    # the check sees calls at all, of kernels and of the threads' meetings
    assert {"exp", "log"} <= found
    assert ("syscall" in found) == (threads > 1)
    assert ("sched_getcpu" in found) == (threads > 1)


SMALL = (
    "FLOAT8E4M3FN",
    "FLOAT8E4M3FNUZ",
    "FLOAT8E5M2",
    "FLOAT8E5M2FNUZ",
    "FLOAT8E8M0",
    "FLOAT4E2M1",
)
SMALL += ("INT4", "UINT4", "INT2", "UINT2")
WIDE = ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "INT8", "INT64", "UINT64")


@pytest.mark.parametrize("cpu", BASELINES)
def test_conversions_of_stored_types(
    cpu: str, documented: tuple[set[str], set[str]], monkeypatch: pytest.MonkeyPatch
):
    """Kernels convert floats and integers of 8 bits and fewer by themselves."""
    if cpu == "x86-64":
        monkeypatch.setenv(DEFAULT_CPU, cpu)
    pairs = [*itertools.product(SMALL, WIDE), *itertools.product(WIDE, SMALL)]
    nodes, inputs, outputs = [], [], []
    for i, (source, target) in enumerate(pairs):
        kinds = [getattr(TensorProto, name) for name in (source, target)]
        nodes.append(helper.make_node("Cast", [f"x{i}"], [f"y{i}"], to=kinds[1]))
        inputs.append(helper.make_tensor_value_info(f"x{i}", kinds[0], [9]))
        outputs.append(helper.make_tensor_value_info(f"y{i}", kinds[1], [9]))
    graph = helper.make_graph(nodes, "conversions", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=12)
    backend = CpuBackend(target_cpu=cpu, cache=False)
    objects = backend.objects(Stages(import_onnx(model), backend.stages(), False))
    assert len(objects) > 30
    assert called(objects) <= documented[0]


def test_threads_of_other_architectures(documented: tuple[set[str], set[str]]):
    target = find_target("cortex-a53")
    assert (
        called([compile_object(llvm_text(target.triple), target)]) - {"glow_program"}
        <= (documented[0])
    )
