"""
The target of generated code, in LLVM's terms, and LLVM's facts about it.

A CPU is named as for `clang -mcpu`; LLVM tells which features it has. It has no function for that,
but it has a rule: a function may be inlined into another one only if it needs no feature that the
other lacks. So a module in which, for each feature, a function that needs the CPU and that feature
is called by one that has the CPU only, goes through LLVM's standard passes, and the calls that are
gone afterwards are the features of the CPU.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import llvmlite
import llvmlite.binding as llvm

from ..errors import CompileError, GlowError
from ..glow_dialects.machine import MachineDescription
from ..wording import did_you_mean
from .host_machine import describe, flattened, host_features, with_host_caches

OTHER_TRIPLES = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
"""The targets among which a CPU is looked for that the host's architecture does not have."""
NATIVE = "native"
DEFAULT_CPU = "GLOW_TARGET_CPU"
"""The environment variable that names the CPU where nothing else does; empty is `native`."""
REPORT = "glow_report"
"""
The function `void glow_report(int64_t output)`, which a program calls when an output is complete.
"""
ALWAYS_INLINE = "alwaysinline"
"""The attribute of functions that LLVM inlines wherever they are called."""

_X86, _X86_32 = "x86_64", "i686-unknown-linux-gnu"
_X86_NEEDS = "sse2"
"""A feature that the calling convention of x86-64 needs: without it, LLVM ends the process."""
_LATER = "popcnt"
"""A feature that no x86 CPU of 32 bits has, and all but the first of 64 bits have."""

_ARM_FEATURES = ("neon", "fp-armv8", "fullfp16", "dotprod", "bf16", "i8mm", "sve", "sve2", "lse")
"""The x86 features are those that LLVM detects; others matter only where code runs elsewhere."""

_NEVER_GENERATED = frozenset(
    "cldemote clflushopt clwb clzero enqcmd hreset invpcid kl lwp mwaitx pconfig "
    "pku prefetchi ptwrite rdpid rdpru rtm serialize sgx shstk tsxldtrk uintr usermsr waitpkg "
    "wbnoinvd widekl xsave xsavec xsaveopt xsaves".split()
)
"""Features for operating systems and the like: only code that asks for their instructions has any,
so a machine without them still runs what is generated here."""

_HELP = """
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.Target.from_triple({triple!r}).create_target_machine(cpu="help")
"""
_COMPILE = """
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
target = llvm.Target.from_triple({0.triple!r})
machine = target.create_target_machine(cpu={0.cpu!r}, features={0.features!r})
machine.emit_object(llvm.parse_assembly("define void @f() {{ ret void }}"))
"""


@dataclass(frozen=True)
class Target:
    """A CPU that code is generated for."""

    triple: str
    cpu: str
    features: str
    """The differences from the CPU of that name: comma-separated, each with `+` or `-`."""

    def key(self) -> tuple[str, ...]:
        """Returns everything about the target and LLVM that object code depends on."""
        version = ".".join(map(str, llvm.llvm_version_info))
        versions = (f"llvmlite {llvmlite.__version__}", f"llvm {version}")
        return (self.triple, self.cpu, self.features, *versions)

    @property
    def architecture(self) -> str:
        return self.triple.split("-")[0]

    def feature_set(self) -> Mapping[str, bool]:
        """Returns the features by name, and whether the target has them."""
        if self == host_target():
            return host_features()
        return features_of(self.triple, self.cpu, self.features)

    def describe(self) -> MachineDescription:
        """
        Returns the facts that schedules depend on. Caches are the host's if it could be the target.
        """
        machine = describe(self.feature_set())
        return machine if self.missing_here() else with_host_caches(machine)

    def missing_here(self) -> list[str]:
        """Returns the lacks of the host for such code: an architecture, or names of features."""
        host = host_target()
        if self.architecture != host.architecture:
            return [self.architecture]
        has = host.feature_set()
        needed = {f for f, there in self.feature_set().items() if there} - _NEVER_GENERATED
        return sorted(f for f in needed if not has.get(f))

    def expect_host_runs_it(self) -> None:
        """Raises CompileError, naming what is missing, if the host cannot run such code."""
        missing = self.missing_here()
        if missing:
            raise CompileError(
                f"code for the CPU {self.cpu!r} cannot run here: this machine lacks "
                f"{', '.join(missing)}; {self._advice(missing)}"
            )

    def expect_runs(self, machine: MachineDescription) -> None:
        """Raises CompileError if code for a machine may have instructions that the target lacks."""
        missing = machine.missing_on(self.describe())
        if missing:
            raise CompileError(
                f"the module is for a machine with {', '.join(missing)}, which the target CPU "
                f"{self.cpu!r} lacks: name the CPU that it was made for, or start from the model"
            )

    def _advice(self, missing: Sequence[str]) -> str:
        if missing == [self.architecture]:
            return "only its object code can be made"
        without = ",".join(f"-{name}" for name in missing)
        return f"choose another target CPU, or do without by the target features {without}"

    def create(self) -> llvm.TargetMachine:
        """
        Returns a fresh LLVM target machine: one that was given to a JIT must not be used again.
        """
        initialize_native() if self.architecture == host_target().architecture else initialize()
        return _llvm_target(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=3, reloc="pic", jit=True
        )


def _llvm_target(triple: str) -> llvm.Target:
    """Returns LLVM's target of a triple. Raises CompileError if it has none."""
    try:
        return llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise CompileError(f"LLVM does not know the target {triple!r}: {error}") from None


@cache
def initialize() -> None:
    """Prepares LLVM's code generators for all architectures that it was built with."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@cache
def initialize_native() -> None:
    """Prepares LLVM's code generator for this machine, which takes 10 MB less than all of them."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def host_target() -> Target:
    """Returns the machine that this process runs on."""
    initialize_native()
    features = flattened(host_features())
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


def find_target(
    cpu: str | None = None, features: str | None = None, triple: str | None = None
) -> Target:
    """
    Returns the target with the CPU and features of these names, for example `haswell` and `-fma`.

    Without a CPU it is that of GLOW_TARGET_CPU, if that is set; otherwise, or with `native`, the
    host's. Without a triple it is the host's, or that of another architecture which has such a CPU;
    a triple of an architecture that has no such CPU makes GLOW_TARGET_CPU meaningless. Raises
    GlowError, with similar names, for a CPU or a feature that LLVM does not know.
    """
    return _find(cpu or _default_cpu(triple), features or "", triple)


def _default_cpu(triple: str | None) -> str:
    """
    Returns the CPU that GLOW_TARGET_CPU names, if it is usable. Raises GlowError for unknown names.
    """
    cpu = os.environ.get(DEFAULT_CPU, "").strip() or NATIVE
    if cpu == NATIVE:
        return cpu
    own = _triple_of(cpu)
    try:
        _expect_known("CPU", cpu, known_names(own)[0], own)
    except GlowError as error:
        raise GlowError(f"the environment variable {DEFAULT_CPU}: {error}") from None
    same = triple is None or triple.split("-")[0] == own.split("-")[0]
    return cpu if same else NATIVE


@cache
def _find(cpu: str, features: str, triple: str | None) -> Target:
    host = host_target()
    named = None if cpu == NATIVE else cpu
    given = _features(features)
    if triple is not None and triple.split("-")[0] != host.architecture:
        named = named or "generic"
    if named is None:
        triple, named = triple or host.triple, host.cpu
        given = (*host.features.split(","), *given)
    else:
        triple = triple or _triple_of(named)
        _expect_known("CPU", named, known_names(triple)[0], triple)
    for feature in _features(features):
        _expect_known("feature", feature[1:], known_names(triple)[1], triple)
    target = Target(triple, named, ",".join(f for f in given if f))
    if target.architecture == _X86 and target != host:
        _expect_64_bits(named, target.features, features)
    return target


def _features(text: str | None) -> tuple[str, ...]:
    names = tuple(f.strip() for f in (text or "").split(",") if f.strip())
    for name in names:
        if name[0] not in "+-":
            raise GlowError(f"expected target features such as +avx2 or -fma, found {name!r}")
    return names


def _triple_of(cpu: str) -> str:
    host = host_target().triple
    if cpu in known_names(host)[0]:
        return host
    return next((t for t in OTHER_TRIPLES if cpu in known_names(t)[0]), host)


def _expect_known(what: str, name: str, names: Sequence[str], triple: str) -> None:
    if not names or name in names:
        return
    hint = did_you_mean(name, names)
    raise GlowError(f"LLVM knows no {what} {name!r} for {triple.split('-')[0]}{hint}")


def _expect_64_bits(cpu: str, features: str, given: str) -> None:
    """Raises GlowError for x86 CPUs that LLVM has, and of which it ends the process."""
    # asked about as a CPU of 32 bits, which all of them can be
    found = _tried(Target(_X86_32, cpu, features), (_X86_NEEDS, _LATER))
    missing = "" if found[_X86_NEEDS] else _X86_NEEDS
    if not missing and (not found[_LATER] or "64bit" in features):
        missing = "" if _has_64_bits(Target(OTHER_TRIPLES[0], cpu, features)) else "64 bits"
    if missing:
        without = f" with the features {given}" if given else ""
        raise GlowError(f"code for x86-64 needs {missing}, which the CPU {cpu!r}{without} lacks")


@cache
def _has_64_bits(target: Target) -> bool:
    """
    Returns whether LLVM can compile for it, which another process tries; True if that is
    impossible.
    """
    done = _elsewhere(_COMPILE.format(target))
    return done is None or done.returncode == 0


def _elsewhere(script: str) -> subprocess.CompletedProcess[str] | None:
    """Returns the output of Python in another process; None if that is impossible."""
    command = [sys.executable, "-c", script]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


@cache
def known_names(triple: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    Returns the CPUs and features that LLVM has for a triple. LLVM prints them on stderr, so another
    process is asked; both are empty if that is impossible.
    """
    initialize()
    _llvm_target(triple)
    done = _elsewhere(_HELP.format(triple=triple))
    if done is None:
        return (), ()
    cpus, _, features = done.stderr.partition("Available features")
    return _listed(cpus), _listed(features)


def _listed(text: str) -> tuple[str, ...]:
    """Returns the names in lines such as ` haswell - Select the haswell processor.`"""
    return tuple(line.split()[0] for line in text.splitlines() if line.startswith("  "))


@cache
def features_of(triple: str, cpu: str, features: str) -> Mapping[str, bool]:
    """Returns the features with which LLVM generates code for a CPU; see the head of this file."""
    target = Target(triple, cpu, features)
    is_x86 = target.architecture in (_X86, "i386", "i686")
    names = sorted(llvm.get_host_cpu_features()) if is_x86 else _ARM_FEATURES
    if is_x86 and host_target().architecture != target.architecture:
        names = known_names(triple)[1]
    return _tried(target, names)


def _tried(target: Target, names: Sequence[str]) -> Mapping[str, bool]:
    """Returns the features among `names` that a target has; see the head of this file."""
    initialize()
    cpu, features = target.cpu, target.features
    both = ",".join(filter(None, [features, "+{}"]))
    lines = ["declare void @something()"]
    for i, name in enumerate(names):
        body = "call void @something() " * 3
        lines += [
            f"define internal void @callee{i}() #{i + 1} {{ {body} ret void }}",
            f"define void @caller{i}() #0 {{ call void @callee{i}() ret void }}",
            f"attributes #{i + 1} = {_attributes(cpu, both.format(name))}",
        ]
    lines.append(f"attributes #0 = {_attributes(cpu, features)}")
    module = llvm.parse_assembly("\n".join(lines))
    module.triple = target.triple
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(target.create(), options)
    builder.getModulePassManager().run(module, builder)
    text = str(module)
    return {name: f"@callee{i}(" not in text for i, name in enumerate(names)}


def _attributes(cpu: str, features: str) -> str:
    return f'{{ "target-cpu"="{cpu}" "target-features"="{features}" }}'
