"""LLVM's statements about CPUs, and their consequences for schedules."""

from __future__ import annotations

from pathlib import Path

import glow
import pytest
from glow.errors import CompileError, GlowError
from glow.glow_dialects.machine import MachineDescription
from glow.lowering.host_machine import cache_sizes, describe, host_machine
from glow.lowering.target import DEFAULT_CPU, features_of, find_target, host_target
from glow.runtime.cpu_backend import CpuBackend
from glow.tests.support.small_models import small_network
from llvmlite import binding

X86 = "x86_64-unknown-linux-gnu"
ARM = "aarch64-unknown-linux-gnu"


def test_features_of_the_host_are_those_that_llvm_detects():
    host = host_target()
    if host.architecture != "x86_64":
        pytest.skip("compares x86 features")
    found = features_of(host.triple, host.cpu, host.features)
    assert dict(found) == dict(binding.get_host_cpu_features())


@pytest.mark.parametrize(
    ("cpu", "features", "bits", "registers", "fma", "int8", "bf16"),
    [
        ("x86-64", None, 128, 16, False, False, False),
        ("nehalem", None, 128, 16, False, False, False),
        ("haswell", None, 256, 16, True, False, False),
        ("znver3", None, 256, 16, True, False, False),
        ("x86-64", "+avx2,+fma", 256, 16, True, False, False),
        ("haswell", "-fma", 256, 16, False, False, False),
        ("alderlake", None, 256, 16, True, True, False),
        ("skylake-avx512", None, 512, 32, True, False, False),
        ("cascadelake", None, 512, 32, True, True, False),
        ("znver4", None, 512, 32, True, True, True),
        ("sapphirerapids", "-avx512f", 256, 16, True, True, False),
        ("cortex-a53", None, 128, 32, True, False, False),
        ("cortex-a76", None, 128, 32, True, True, False),
    ],
)
def test_machines_by_name(
    cpu: str, features: str | None, bits: int, registers: int, fma: bool, int8: bool, bf16: bool
):
    if host_target().architecture != "x86_64":
        pytest.skip("finds x86 CPUs first")
    target = find_target(cpu, features)
    machine = target.describe()
    assert (machine.vector_bits, machine.vector_registers, machine.has_fma) == (
        bits,
        registers,
        fma,
    )
    assert (bool(machine.int8_dots), machine.has_bf16_dot) == (int8, bf16)
    assert target.architecture == ("aarch64" if cpu.startswith("cortex") else "x86_64")


def test_the_host_is_the_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(DEFAULT_CPU, raising=False)
    assert find_target() == find_target("native") == host_target()
    monkeypatch.setenv(DEFAULT_CPU, "native")
    assert find_target() == host_target()
    assert host_target().describe() == host_machine()
    assert not host_target().missing_here()
    assert find_target(triple=ARM).architecture == "aarch64"


def test_the_environment_names_the_default(monkeypatch: pytest.MonkeyPatch):
    """Unless a CPU is named, or a triple without such a CPU."""
    if host_target().architecture != "x86_64":
        pytest.skip("finds x86 CPUs first")
    monkeypatch.setenv(DEFAULT_CPU, "nehalem")
    assert find_target() == find_target("nehalem")
    assert find_target(features="+avx2") == find_target("nehalem", "+avx2")
    assert find_target(triple=X86).cpu == "nehalem"
    assert find_target("haswell").cpu == "haswell"
    assert find_target("native") == host_target()
    assert find_target(triple=ARM) == find_target("generic", triple=ARM)
    assert "has-fma=false" in CpuBackend().stages()[0].pipeline
    monkeypatch.setenv(DEFAULT_CPU, "cortex-a76")
    assert find_target().architecture == "aarch64"
    assert find_target(triple=X86) == find_target(triple=X86, cpu="native")


def test_nonsense_in_the_environment_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(DEFAULT_CPU, "cortex-a67")
    message = r"variable GLOW_TARGET_CPU: LLVM knows no CPU 'cortex-a67' for "
    with pytest.raises(GlowError, match=message):
        find_target()
    with pytest.raises(GlowError, match=message):
        glow.compile(small_network(1), symbols={"batch": 1}, cache=False)
    assert find_target("native") == host_target()


def test_cached_programs_are_those_of_the_cpu_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    if host_target().architecture != "x86_64":
        pytest.skip("compiles for x86 CPUs")
    data = small_network(2).SerializeToString()

    def stages_that_ran(cpu: str) -> bool:
        monkeypatch.setenv(DEFAULT_CPU, cpu)
        model = glow.compile(data, symbols={"batch": 1}, cache=tmp_path)
        return "kernels" in model.times

    assert stages_that_ran("x86-64")
    assert not stages_that_ran("x86-64")
    assert stages_that_ran("nehalem")


def test_unknown_names_are_errors():
    with pytest.raises(GlowError, match=r"no CPU 'haswel' for x86_64; did you mean haswell"):
        find_target("haswel", triple=X86)
    with pytest.raises(GlowError, match=r"no feature 'avx22' for x86_64; did you mean .*avx2"):
        find_target("haswell", "+avx22", X86)
    with pytest.raises(GlowError, match=r"features such as \+avx2 or -fma, found 'avx2'"):
        find_target("haswell", "avx2", X86)
    with pytest.raises(GlowError, match="does not know the target 'pdp11-dec-ultrix'"):
        find_target("haswell", triple="pdp11-dec-ultrix")


@pytest.mark.parametrize(
    ("cpu", "features", "message"),
    [
        ("i386", None, "needs sse2, which the CPU 'i386' lacks"),
        ("pentium4", None, "needs 64 bits, which the CPU 'pentium4' lacks"),
        ("haswell", "-sse2", "needs sse2, which the CPU 'haswell' with the features -sse2 lacks"),
        ("haswell", "-64bit", "needs 64 bits"),
        ("native", "-sse", "needs sse2"),
    ],
)
def test_x86_without_what_its_calls_need_is_an_error(cpu: str, features: str | None, message: str):
    if host_target().architecture != "x86_64":
        pytest.skip("finds x86 CPUs first")
    with pytest.raises(GlowError, match=message):
        find_target(cpu, features)


def test_code_that_cannot_run_here_is_an_error():
    other = ARM if host_target().architecture == "x86_64" else X86
    with pytest.raises(CompileError, match="only its object code can be made"):
        find_target("generic", triple=other).expect_host_runs_it()
    if host_target().architecture == "x86_64":
        # no CPU has the instructions of both vendors
        missing = find_target("x86-64", "+xop,+sse4a,+amx-fp8").missing_here()
        assert missing
        with pytest.raises(CompileError, match=f"lacks .*{missing[0]}.* features .*-{missing[0]}"):
            find_target("x86-64", "+xop,+sse4a,+amx-fp8").expect_host_runs_it()


def test_register_rule():
    """The tiles that were measured as good, and those that spill."""
    wide, narrow = MachineDescription(512, 32), MachineDescription(256, 16)
    assert [wide.most_points(v) for v in (2, 3, 4, 5, 6)] == [14, 9, 6, 5, 4]
    assert [narrow.most_points(v) for v in (1, 2, 3)] == [14, 6, 4]
    # an integer product without an instruction that adds it takes a register
    assert [narrow.most_points(v, is_fused=False) for v in (1, 2, 3)] == [14, 6, 3]
    assert (wide.panel_vectors, narrow.panel_vectors) == (3, 2)
    assert (wide.channel_block, narrow.channel_block) == (16, 8)
    without = MachineDescription(128, 16, has_fma=False)
    assert all(without.most_points(v) <= narrow.most_points(v) for v in range(1, 8))
    assert (without.channel_block, MachineDescription(128, 32).channel_block) == (8, 8)
    assert MachineDescription(128, 8).channel_block == 4


def test_features_that_are_absent():
    assert describe({}) == MachineDescription(128, 16, False, l2_bytes=256 << 10)
    assert describe({"avx512f": True, "avx2": True, "fma": True}).vector_bits == 256


def test_cache_sizes(tmp_path: Path):
    caches = [
        ("Data", "1", "48K"),
        ("Instruction", "1", "64K"),
        ("Unified", "2", "2M"),
        ("x", "", ""),
    ]
    for i, (kind, level, size) in enumerate(caches):
        folder = tmp_path / f"index{i}"
        folder.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(text + "\n")
    (tmp_path / "index9").mkdir()
    assert cache_sizes(tmp_path) == {1: 48 << 10, 2: 2 << 20}
    assert cache_sizes(tmp_path / "absent") == {}
