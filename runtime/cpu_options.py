"""The options of the backend `cpu`: of `glow.compile`, of `CpuBackend`, and flags of the tools."""

from __future__ import annotations

from dataclasses import dataclass

from ..byte_sizes import bytes_of
from ..errors import GlowError
from .options import (
    at_least_one,
    expect_boolean,
    expect_choice,
    expect_text,
    option,
    pipeline_text,
    threads_of,
)

MOST_THREADS = 1024
"""More are a mistake: they would take longer to meet than to compute."""
CONV_ALGORITHMS = ("auto", "direct", "winograd", "product")
PRECISIONS = ("f32", "bf16")
WEIGHTS = ("u4", "u8")


@dataclass(frozen=True)
class CpuOptions:
    """Raises GlowError, naming the option, for values of wrong types and unknown names."""

    threads: int = option(1, "default: 1", metavar="N")
    """
    The number of threads that run the network together, including the calling one. The others sleep
    between runs. Calls from several Python threads take turns once all processors are used.
    """
    pin: bool = option(False, "keep each further thread on a processor of its own")
    """
    Whether each of the other threads stays on a processor of its own, which helps if nothing else
    runs on these. The system places the calling thread.
    """
    target_cpu: str | None = option(
        None,
        "generate code as for this CPU, in LLVM's names (haswell, x86-64); default: that of "
        "the environment variable GLOW_TARGET_CPU, or this machine's",
        metavar="NAME",
    )
    """The CPU that code is generated for, in LLVM's names. This machine must be able to run it."""
    target_features: str | None = option(
        None,
        "features of the CPU to use or not: --target-features=-avx512f",
        metavar="[+-]NAME,...",
    )
    """Differences from that CPU, in LLVM's names: `"+avx2,-fma"`."""
    target_triple: str | None = option(None, "the platform that code is generated for")
    """LLVM's name of another platform, for object files: `"aarch64-unknown-linux-gnu"`."""
    conv_algorithm: str = option(
        "auto",
        "how convolutions are computed; default: auto, whichever is estimated to be fastest",
        choices=CONV_ALGORITHMS,
    )
    """
    The algorithm of convolutions: `auto` for the estimated fastest, `direct` for the definition,
    `winograd` or `product` wherever it applies. `product` is one of matrices, the filter and the
    patches of the input, for filters that are not constant. Winograd convolution rounds
    differently: its results are within 2e-5 of the root mean square of the exact ones.
    """
    precision: str = option(
        "f32",
        "bf16: round operands of convolutions and matrix products, sum in f32, and report the "
        "error; needs AVX512-BF16; default: f32",
        choices=PRECISIONS,
    )
    """
    `f32`, or `bf16` to round the operands of convolutions and matrix products to bf16, with sums in
    f32, which needs a CPU with AVX512-BF16. Expect differences of about 1 % of the root mean square
    of results.
    """
    quantize: str | None = option(None, "passes that quantize the optimized graph")
    """
    Quantize the network: a `glow.quantization.Quantization`, or as text the pass with its options,
    such as `glow-quantize{profile="profile.json" schema=symmetric}`.
    """
    weights: str | None = option(
        None,
        "store the constant matrices of products as numbers of 4 or 8 bits, and report the error",
        choices=WEIGHTS,
    )
    """
    `u4` or `u8` to store the constant matrices of products as numbers of 4 or 8 bits, with a scale
    and a zero point for each group of numbers of a column; see `glow.quantization.weights`. Of
    products with few rows, inputs are rounded to 8 bits (`u4`) or 16 bits (`u8`).
    """
    group: int = option(
        64,
        "how many weights have one scale, a multiple of 8 (of 4 for u8); default: 64",
        metavar="N",
    )
    """The number of neighbours in a column that have one scale and zero point, with `weights`."""
    memory_budget: str | int | None = option(
        None,
        "compute intermediate results again instead of keeping them, until they fit into so many "
        "bytes (64MiB)",
        metavar="SIZE",
    )
    """
    The bytes that intermediate results may take, as a number or a text such as `"64MiB"`. Values
    are computed again instead of being kept until they fit, if that is possible, else a warning
    says how much is needed. The arena may be larger by gaps between buffers.
    """
    schedules: str | None = option(
        None,
        "schedules of kernels that glow-tune measured; none: only those of the cost model; "
        "default: those that glow-tune left in the cache, if any",
        metavar="FILE",
    )
    """
    A file of schedules that `glow-tune` measured, which are preferred to those of the cost model.
    The default is the file of this machine in the cache, if there is one; `"none"` uses no file. A
    file of another machine, or of another version of the compiler, is ignored with a warning.
    """
    timed: bool = option(False, "record when each kernel begins and ends")
    """
    Whether the program records when each of its kernels begins and ends, for
    `CompiledModel.profile`.
    """

    reports: bool = option(False, "say when each output is complete")
    """
    Whether the program says when each of its outputs is complete, as
    `CompiledModel.run_reporting` needs it.
    """
    sanitize: bool = option(False, "check each access of kernels to their buffers; slow")
    """
    Whether kernels compare the place of each load and store with the bounds of its buffer, and
    compilation checks that no two buffers share memory while both are alive. A violation is a
    SanitizerError of the call, or a CompileError. Programs take several times as long; they are for
    one thread, and are compiled each time.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "threads", threads_of(self.threads, MOST_THREADS))
        object.__setattr__(self, "quantize", pipeline_text(self.quantize))
        object.__setattr__(self, "group", at_least_one("group", self.group))
        if self.weights is not None:
            expect_choice("weights", self.weights, WEIGHTS)
        for name in ("pin", "timed", "reports", "sanitize"):
            expect_boolean(name, getattr(self, name))
        for name in ("target_cpu", "target_features", "target_triple", "schedules"):
            expect_text(name, getattr(self, name))
        if self.memory_budget is not None:
            object.__setattr__(self, "memory_budget", _budget(self.memory_budget))
        expect_choice("conv_algorithm", self.conv_algorithm, CONV_ALGORITHMS)
        expect_choice("precision", self.precision, PRECISIONS)
        if self.sanitize and (self.threads > 1 or self.timed):
            raise GlowError("sanitize needs threads=1, and no timed")

    @property
    def quantizing(self) -> tuple[str, ...]:
        """The passes that quantize the optimized graph."""
        passes = () if self.quantize is None else (self.quantize,)
        if self.weights is None:
            return passes
        return *passes, f"glow-quantize-weights{{storage={self.weights} group={self.group}}}"


def _budget(given: object) -> int:
    """Returns a number of bytes. Raises GlowError for what is none."""
    size = bytes_of(str(given)) if isinstance(given, str | int) else None
    if size is None or isinstance(given, bool):
        raise GlowError(f"memory_budget: expected a size such as 64MiB, found {given!r}")
    return size
