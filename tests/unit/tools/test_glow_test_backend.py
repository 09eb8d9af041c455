"""glow-test-backend: that its cases are ample, that backends pass, and that errors are found."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from glow.glow_dialects.claims import Claim, Elements, Quantized, Schema, claims, same_type
from glow.glow_dialects.glow import DataParallel
from glow.glow_dialects.glow.arithmetic import AddOp, MulOp
from glow.glow_dialects.glow.convolution import ConvolutionOp
from glow.glow_dialects.glow.normalization import SoftmaxOp
from glow.glow_dialects.operators import OPERATORS
from glow.interface import backend as backends
from glow.interface.backend import Backend, DeviceMemory, Stage, find_backend
from glow.interface.program import Program
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.interpreter_backend import InterpretedProgram
from glow.runtime.stages import Stages
from glow.tests.support.seeds import generator
from glow.tools.conformance.cases import family_of
from glow.tools.conformance.check import check, limit_of, network
from glow.tools.conformance.plan import plan
from glow.tools.glow_test_backend import main
from xdsl.dialects.builtin import ModuleOp, f16, f32, i1, i8, i32

SAMPLE = 8
"""Operators of the CPU that one run of the tests tries."""


class Adder(Backend):
    """An interpreter with chosen claims and errors."""

    name = "adder"

    def __init__(self, claimed: Sequence[Claim], wrong: str = ""):
        self.claimed = claimed
        self.wrong = wrong

    def claims(self) -> Sequence[Claim]:
        return self.claimed

    def stages(self) -> Sequence[Stage]:
        return ()

    def compile(self, stages: Mapping[str, ModuleOp]) -> Program:
        module = stages["imported"]
        if self.wrong == "raises":
            raise ValueError("out of registers")
        return Wrong(module) if self.wrong else InterpretedProgram(module)


class Wrong:
    """The last element of each result is off by an amount that comparisons must see."""

    def __init__(self, module: ModuleOp):
        self.right = InterpretedProgram(module)

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        outputs = self.right.run(inputs)
        for output in outputs:
            output.reshape(-1)[-1] += np.asarray(
                0.1 if output.dtype.kind == "f" else 1, output.dtype
            )
        return outputs


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch):
    """Makes a backend found by the tool, whatever its name."""

    def install(backend: Backend) -> None:
        monkeypatch.setattr(backends, "find_backend", lambda name, **options: backend)

    return install


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda n: n.name)
def test_every_operator_has_cases(operator: type):
    assert family_of(operator) is not None
    (subject,) = plan(Adder(claims(operator)), int(generator().integers(2**32)))
    assert not subject.problems
    assert len(subject.cases) >= len(subject.rows) > 0
    for case in subject.cases:
        assert tuple(a.shape for a in case.arrays) == tuple(
            t.get_shape()  # pyright: ignore
            for t in case.call.operands
        )


def test_the_interpreter_passes(capsys: pytest.CaptureFixture[str]):
    assert main(["interpreter", "--seed", str(generator().integers(2**32))]) == 0, (
        capsys.readouterr().out
    )


def test_some_operators_of_the_cpu_pass():
    seed, backend = int(generator().integers(2**32)), find_backend("cpu", cache=False)
    subjects = list(plan(backend, seed))
    assert len(subjects) > 60
    for i in generator().choice(len(subjects), SAMPLE, replace=False):
        subject = subjects[i]
        assert not subject.problems
        failed = [str(o) for o in check(backend, subject.cases) if not o.passed]
        assert not failed, f"seed {seed}"


def test_operators_that_a_device_lacks_are_left_out():
    """The CPU claims products of bf16 where it has them, which passes after claims ask for."""
    never = plan(Adder(claims(AddOp, when=lambda call: False)), 1)
    assert not list(never)
    (without_cases,) = plan(Adder(claims(AddOp, elements=same_type(i1))), 1)
    assert without_cases.problems
    subjects = list(plan(find_backend("cpu", cache=False), int(generator().integers(1 << 32))))
    assert not [s.operator.name for s in subjects if s.problems]


@pytest.mark.parametrize("cpu", ["haswell", "cortex-a76"])
def test_claims_of_other_cpus_have_kernels(cpu: str):
    """Which products of groups there are depends on the CPU."""
    backend = CpuBackend(cache=False, target_cpu=cpu)
    (subject,) = plan(backend, int(generator().integers(1 << 32)), "glow_cpu.dot_matmul")
    module, _ = network(subject.cases)
    kernels = str(Stages(module, backend.stages())["kernels"])
    assert kernels.count("call @k_dot_matmul") == len(subject.cases)


def test_a_seed_repeats_the_cases():
    def data(seed: int) -> list[bytes]:
        (subject,) = plan(find_backend("interpreter"), seed, "glow.select")
        return [array.tobytes() for case in subject.cases for array in case.arrays]

    assert data(5) == data(5) != data(6)


@pytest.mark.parametrize("elements", [f32, i32], ids=str)
def test_wrong_results_are_named(install, capsys: pytest.CaptureFixture[str], elements):
    install(Adder(claims(AddOp, elements=same_type(elements)), wrong="result"))
    assert main(["adder", "--seed", "7"]) == 1
    printed = capsys.readouterr().out
    assert "seed 7" in printed
    assert "glow.add: 6 failed; run these alone with --filter=glow.add" in printed
    assert f"x{elements}>) -> (tensor<" in printed
    assert f"at most {0 if elements == i32 else '2e-05'} expected" in printed


def test_errors_of_the_backend_are_named(install, capsys: pytest.CaptureFixture[str]):
    install(Adder(claims(AddOp, MulOp, elements=same_type(f32)), wrong="raises"))
    assert main(["adder", "--filter", "mul"]) == 1
    printed = capsys.readouterr().out
    assert "ValueError: out of registers" in printed
    assert "glow.add" not in printed


def test_claims_without_cases_are_errors(install, capsys: pytest.CaptureFixture[str]):
    class UnknownOp(SoftmaxOp.__base__):  # pyright: ignore
        name = "other.unknown"

    install(
        Adder(
            [
                *claims(UnknownOp, elements=same_type(f32)),  # pyright: ignore
                *claims(SoftmaxOp, elements=same_type(i8)),
                *claims(AddOp, elements=same_type(f32), when=lambda call: False),
            ]
        )
    )
    assert main(["adder"]) == 1
    printed = capsys.readouterr().out
    assert "no generator of cases; register one" in printed
    assert "claims (i8) -> i8, but supports no case of that" in printed
    assert "claims (f32) -> f32, but supports no case of that\n" in printed


def test_cases_that_do_not_fit_say_so(
    install, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Adder, "memories", lambda self: (DeviceMemory("sram", 3),))
    install(Adder(claims(AddOp, elements=same_type(f32))))
    assert main(["adder"]) == 1
    assert "but supports no case of that within its 3 bytes" in capsys.readouterr().out


def test_only_supported_cases_run():
    def is_flat(call) -> bool:
        return len(call.shape(0)) < 2

    backend = Adder(claims(AddOp, elements=same_type(f32), when=is_flat))
    (subject,) = plan(backend, int(generator().integers(2**32)))
    assert subject.cases
    assert all(is_flat(case.call) for case in subject.cases)


def test_cases_fit_into_the_memory():
    class Small(Adder):
        def memories(self) -> Sequence[DeviceMemory]:
            return (DeviceMemory("small", 200),)

    (subject,) = plan(
        Small(claims(AddOp, elements=same_type(f32))), int(generator().integers(2**32))
    )
    assert subject.cases
    assert all(3 * 4 * case.arrays[0].size * 2 <= 200 for case in subject.cases)


def test_float_operators_between_conversions(install, capsys: pytest.CaptureFixture[str]):
    q, w, b = (Quantized(t, Schema.POWER_OF_TWO) for t in (i8, i8, i32))
    backend = Adder(claims(ConvolutionOp, elements=[Elements((q, w, b), (q,))]))
    (subject,) = plan(backend, int(generator().integers(2**32)))
    assert subject.cases
    for case in subject.cases:
        assert case.real is not None
        assert limit_of(case) == 1
        assert len(np.unique(case.arrays[0])) > 1
    install(backend)
    assert main(["adder", "--seed", str(generator().integers(2**32))]) == 0, capsys.readouterr().out


def test_the_list_of_claims(install, capsys: pytest.CaptureFixture[str]):
    mixed = Elements((i8, Quantized(i8, Schema.SYMMETRIC, per_axis=True)), (i32,))
    install(Adder([Claim(AddOp, (*same_type(f32, f16), mixed)), Claim(MulOp)]))
    assert main(["adder", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [
        ["glow.add", "f32; f16; (i8, quantized<i8, symmetric, per axis>) -> i32"],
        ["glow.mul", "every type"],
    ]


def test_the_list_of_claims_in_a_pipe_that_is_closed():
    command = [sys.executable, "-m", "glow.tools.glow_test_backend", "cpu", "--list"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "no backend is called 'nobody'; installed: cpu, interpreter"),
        (["cpu", "--filter", "nonsense"], "cpu claims no operator that contains 'nonsense'"),
        (["cpu", "--seed", "x"], "--seed: expected a whole number, found 'x'"),
        (["cpu", "--seed", "-1"], "--seed: expected a number of at least 0, found '-1'"),
        (["cpu", "--threads", "0"], "--threads: expected a number of at least 1, found '0'"),
        ([], "the following arguments are required: backend"),
    ],
)
def test_usage_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_data_parallel_operators_have_cases_of_all_ranks():
    ranks = {
        len(shape) for shape in _shapes(next(n for n in OPERATORS if issubclass(n, DataParallel)))
    }
    assert ranks >= {0, 1, 2, 3}


def _shapes(operator: type) -> list[tuple[int, ...]]:
    found = [plan(Adder(claims(operator)), seed) for seed in range(5)]
    cases = [case for (subject,) in found for case in subject.cases]
    return [t.get_shape() for case in cases for t in case.call.operands]  # pyright: ignore
