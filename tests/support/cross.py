"""Programs for AArch64, linked by a cross compiler and run by an emulator."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from glow.interface.signature import TensorInfo
from glow.runtime.bundle import write_bundle
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.signature import signature_of
from glow.runtime.stages import Stages
from xdsl.dialects.builtin import ModuleOp

MAIN = Path(__file__).resolve().parents[2] / "examples" / "c_program" / "main.c"
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
TRACE = "trace.txt"
TOOLS = {COMPILER: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", EMULATOR: "qemu-user"}
"""Commands, and the packages of Debian that have them."""


def needs_emulator() -> pytest.MarkDecorator:
    """Skips a test, or the tests of a file, where AArch64 code cannot be linked and run."""
    missing = [name for name in TOOLS if shutil.which(name) is None]
    packages = " ".join(TOOLS[name] for name in missing)
    reason = f"AArch64 code is not run: {', '.join(missing)} missing (apt install {packages})"
    return pytest.mark.skipif(bool(missing), reason=reason)


class EmulatedBackend(CpuBackend):
    """
    The CPU backend for AArch64. Its programs run in an emulator of a CPU that `emulated` names in
    the emulator's terms, which has to have the features of the target.
    """

    def __init__(self, folder: Path, emulated: str, **options: object):
        options.setdefault("cache", False)
        super().__init__(**options)  # pyright: ignore
        self.folder = folder
        self.emulated = emulated
        self.flags: Sequence[str] = ()
        """Further options of the C compiler."""
        self.emulator_options: Sequence[str] = ()
        """Further options of the emulator; it writes to a file `TRACE` beside the program."""

    def compile(self, stages: Mapping[str, ModuleOp]) -> EmulatedProgram:
        assert isinstance(stages, Stages)
        folder = self.folder / f"program{sum(1 for _ in self.folder.iterdir())}"
        objects = write_bundle(stages, self, folder)
        names = [path.name for path in objects]
        command = [COMPILER, *self.flags, "-static", "-I.", "-o", "run", str(MAIN), *names]
        subprocess.run([*command, "-lm", "-pthread"], cwd=folder, check=True, timeout=300)
        outputs = signature_of(stages["imported"]).outputs
        command = [EMULATOR, "-cpu", self.emulated, "-D", TRACE, *self.emulator_options, "./run"]
        return EmulatedProgram(folder, command, outputs)


class EmulatedProgram:
    """An executable that reads its inputs from files and writes its outputs to files."""

    def __init__(self, folder: Path, command: Sequence[str], outputs: Sequence[TensorInfo]):
        self._folder = folder
        self._command = command
        self._outputs = outputs

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        for i, array in enumerate(inputs):
            (self._folder / f"input{i}.bin").write_bytes(array.tobytes())
        subprocess.run(self._command, cwd=self._folder, check=True, timeout=300)
        found: list[np.ndarray] = []
        for i, info in enumerate(self._outputs):
            data = (self._folder / f"output{i}.bin").read_bytes()
            found.append(np.frombuffer(data, info.dtype).reshape(info.shape))
        return found
