"""
Code for AArch64, run by an emulator of several CPUs: kernels of every family, and networks.

An emulator shows that instructions and calls are right. That threads meet as they must does not
follow from it: the machine that it runs on orders accesses to memory more strictly.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import glow
import numpy as np
import pytest
from glow.glow_dialects.elements import storage_type
from glow.glow_dialects.glow.quantization import DequantizeOp, QuantizeOp, RescaleOp
from glow.glow_dialects.glow.transposed import TransposedConvolutionOp
from glow.glow_dialects.operator import element_of
from glow.lowering.kernels.registry import kernel_of
from glow.runtime.interpreter import execute
from glow.runtime.signature import main_function
from glow.tests.support.cross import TRACE, EmulatedBackend, needs_emulator
from glow.tools.conformance.cases import Case, Draw, Row
from glow.tools.conformance.check import check
from glow.tools.conformance.plan import Subject, plan
from glow.tools.conformance.products import transposed_convolution
from xdsl.dialects.builtin import f32

pytestmark = needs_emulator()

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits" / "digits.onnx"
BASIC = "cortex-a72"
FOUR = ("f32", "f16", "bf16", "i8")
KERNELS = [
    pytest.param(BASIC, BASIC, FOUR, id="basic"),
    pytest.param("neoverse-n1", "neoverse-n1", FOUR, id="dotprod"),
    pytest.param("neoverse-v1", "max", (*FOUR, "ui8"), id="i8mm-bf16-sve"),
]
"""Names of a CPU for LLVM and for the emulator, and the element types to try there."""
CONVERSIONS = (QuantizeOp, DequantizeOp, RescaleOp)
OTHERS = 8
"""Further operators without an algorithm, loops over elements or copies, that one test tries."""


def cases_of(subject: Subject, elements: tuple[str, ...], rng: np.random.Generator) -> list[Case]:
    """Returns a case for each of the types, of the first operand, that the operator has."""
    found: list[Case] = []
    for element in elements:
        cases = [c for c in subject.cases if element_of_case(c) == element]
        if cases:
            found.append(cases[rng.integers(len(cases))])
    return found


def element_of_case(case: Case) -> str:
    return str(storage_type(element_of((*case.call.operands, *case.call.results)[0])))


def some_cases(
    backend: EmulatedBackend, elements: tuple[str, ...], rng: np.random.Generator
) -> Iterator[Case]:
    """
    Yields cases of one operator for each algorithm of kernels, of those that convert integers, of
    some that need no algorithm, and of transposed convolution, which becomes others.
    """
    subjects: dict[object, list[Subject]] = {}
    for subject in plan(backend, int(rng.integers(1 << 32))):
        subjects.setdefault(kernel_of(subject.operator), []).append(subject)
    simple = subjects.pop(None)
    chosen = [found[rng.integers(len(found))] for found in subjects.values()]
    chosen += [s for s in simple if s.operator in CONVERSIONS]
    chosen += [simple[i] for i in rng.permutation(len(simple))[:OTHERS]]
    for subject in chosen:
        yield from cases_of(subject, elements, rng)
    yield from transposed_convolution(Draw(TransposedConvolutionOp, Row((f32,)), rng))


@pytest.mark.slow
@pytest.mark.parametrize(("cpu", "emulated", "elements"), KERNELS)
def test_kernels(
    cpu: str,
    emulated: str,
    elements: tuple[str, ...],
    tmp_path: Path,
    rng: np.random.Generator,
):
    backend = EmulatedBackend(tmp_path, emulated, target_cpu=cpu)
    cases = list(some_cases(backend, elements, rng))
    assert len(cases) > 40
    failed = [
        f"{o.case}: {o.difference} {o.error}" for o in check(backend, cases, 1000) if not o.passed
    ]
    assert not failed


def digits(backend: EmulatedBackend, image: np.ndarray) -> None:
    """Checks that the network of digits agrees with the interpreter."""
    (found,) = glow.compile(DIGITS, backend)(image)
    (expected,) = glow.compile(DIGITS, "interpreter")(image)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_digits(threads: int, tmp_path: Path, rng: np.random.Generator):
    backend = EmulatedBackend(tmp_path, BASIC, target_cpu=BASIC, threads=threads)
    digits(backend, rng.random((1, 1, 8, 8), np.float32))


def test_threads_sleep_and_wake_each_other(tmp_path: Path, rng: np.random.Generator):
    backend = EmulatedBackend(tmp_path, BASIC, target_cpu=BASIC, threads=3)
    backend.flags, backend.emulator_options = ["-DSPINS=0"], ["-strace"]
    digits(backend, rng.random((1, 1, 8, 8), np.float32))
    (trace,) = tmp_path.glob(f"*/{TRACE}")
    for call in ("FUTEX_WAIT", "FUTEX_WAKE"):
        # those of the C library wait for other things
        assert f"FUTEX_PRIVATE_FLAG|{call}," in trace.read_text()


def test_digits_in_integers(tmp_path: Path, rng: np.random.Generator):
    image = rng.random((1, 1, 8, 8), np.float32)
    backend = EmulatedBackend(
        tmp_path, "max", target_cpu="neoverse-v1", threads=2, quantize="glow-quantize{dynamic=true}"
    )
    model = glow.compile(DIGITS, backend)
    quantized = model.stages["quantized"]
    assert "glow_cpu.dot_matmul" in str(model.stages["packed"])
    (expected,) = execute(main_function(quantized), [image])
    np.testing.assert_allclose(model(image)[0], expected, rtol=0, atol=1e-5)
