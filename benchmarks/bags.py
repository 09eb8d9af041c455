"""
Compares the speed of sums of rows of embedding tables with that of copying memory.

    python -m glow.benchmarks.bags [--threads 1,2] [--columns 64,128,256] [--bits 4,8,32]
                                   [--seconds 1] [--mib 64] [--torch]

A row of the output is a format of the table (f32, or fused rows of 8 or 4 bits, each with a scale
and an offset), the numbers in a row, and whether the 40 indices of each of 1024 bags name rows of
the whole table or of 256 KiB of it. The speed is bytes of rows that are read in a second. Its share
is that of the bytes that a copy of 64 MiB reads and writes in a second, in one thread; `lines` is
that of whole lines of 64 bytes, of which a row needs one or two in part. `as f32` is the time of
rows of equally many bytes that are f32: what it takes to find and read such rows, and to add them
up without a conversion. With `--torch`, PyTorch's `embedding_bag` runs in turns
(`pip install torch`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, product

import glow
import numpy as np
import onnx
from glow.benchmarks.run import counts
from glow.benchmarks.trees import shortest
from glow.glow_dialects.machine import LINE_BYTES
from onnx import helper

BAGS, EACH = 1024, 40
"""The number of bags, and of the indices in each."""
NEAR_BYTES = 256 << 10
DOMAIN = "org.pytorch._caffe2"
_OPERATORS = {
    32: "SparseLengthsSum",
    8: "SparseLengthsSumFused8BitRowwise",
    4: "SparseLengthsSumFused4BitRowwise",
}


@dataclass(frozen=True)
class Bags:
    """Sums of rows of `columns` numbers of `bits` bits."""

    bits: int
    columns: int

    @property
    def as_f32(self) -> Bags:
        """Sums of rows of f32 that have equally many bytes."""
        return Bags(32, self.row_bytes // 4)

    @property
    def row_bytes(self) -> int:
        ends = {32: 0, 8: 8, 4: 4}[self.bits]
        return self.columns * self.bits // 8 + ends

    def model(self, rows: int) -> onnx.ModelProto:
        """Returns a model whose inputs are a table, indices, and the lengths of bags."""
        table = np.dtype(np.float32 if self.bits == 32 else np.uint8)
        width = self.row_bytes // table.itemsize
        types = {"table": (table, [rows, width]), "indices": (np.dtype(np.int64), [BAGS * EACH])}
        types["lengths"] = (np.dtype(np.int32), [BAGS])
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)
            for name, (dtype, shape) in types.items()
        ]
        made = helper.make_node(_OPERATORS[self.bits], [*types], ["y"], domain=DOMAIN)
        y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [BAGS, self.columns])
        graph = helper.make_graph([made], "bags", inputs, [y])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def table(self, rows: int, rng: np.random.Generator) -> np.ndarray:
        """Returns random rows, with the scale 0.01 and the offset -0.5."""
        if self.bits == 32:
            return rng.standard_normal((rows, self.columns), np.float32)
        made = rng.integers(0, 256, (rows, self.row_bytes), np.uint8)
        ends = np.array([0.01, -0.5], np.float16 if self.bits == 4 else np.float32).view(np.uint8)
        made[:, -len(ends) :] = ends
        return made


def seconds_of(
    bags: Bags, rows: int, named: int, threads: int, seconds: float, torch: bool
) -> list[float]:
    """
    Returns the shortest time of a run whose indices name the first `named` of `rows` rows, and that
    of PyTorch, if it runs too.
    """
    rng = np.random.default_rng(0)
    run = glow.compile(bags.model(rows), threads=threads)
    fixed = {"table": bags.table(rows, rng), "lengths": np.full(BAGS, EACH, np.int32)}
    feeds = [{**fixed, "indices": rng.integers(0, named, BAGS * EACH)} for _ in range(4)]
    y, ours = np.empty((BAGS, bags.columns), np.float32), cycle(feeds)
    runs: list[Callable[[], object]] = [lambda: run.run_into([y], next(ours))]
    if torch:
        runs.append(_in_torch(bags, feeds, threads))
    turns, best = 4, [float("inf")] * len(runs)
    for _ in range(turns):
        best = [min(b, shortest(r, seconds / turns)) for b, r in zip(best, runs, strict=True)]
    return best


def _in_torch(bags: Bags, feeds: Sequence[Mapping[str, np.ndarray]], threads: int):
    """Returns a function that computes the sums of the next feed with PyTorch."""
    import torch  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(threads)
    table = torch.from_numpy(feeds[0]["table"])
    offsets = torch.arange(0, BAGS * EACH, EACH)
    indices = cycle([torch.from_numpy(feed["indices"]) for feed in feeds])
    if bags.bits == 32:
        return lambda: torch.nn.functional.embedding_bag(next(indices), table, offsets, mode="sum")
    name = {8: "embedding_bag_byte_rowwise_offsets", 4: "embedding_bag_4bit_rowwise_offsets"}
    summed = getattr(torch.ops.quantized, name[bags.bits])
    return lambda: summed(table, next(indices), offsets)


def lines_of(bags: Bags, rows: int) -> float:
    """Returns the bytes of the lines of 64 bytes that a row touches, on average."""
    first = np.arange(rows) * bags.row_bytes % LINE_BYTES
    return LINE_BYTES * float(np.mean((first + bags.row_bytes - 1) // LINE_BYTES + 1))


def copied(seconds: float, size: int = 64 << 20) -> float:
    """Returns the bytes that a copy of `size` bytes reads and writes in a second."""
    source = np.ones(size // 4, np.float32)
    target = np.empty_like(source)
    return 2 * size / shortest(lambda: np.copyto(target, source), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description="Times sums of rows beside copies of memory.")
    parser.add_argument("--threads", type=counts, default=[1, 2], help="default 1,2")
    columns = [64, 128, 256]
    parser.add_argument("--columns", type=counts, default=columns, help="default 64,128,256")
    parser.add_argument("--bits", type=counts, default=[4, 8, 32], help="default 4,8,32")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row; default 1")
    parser.add_argument("--mib", type=int, default=64, help="the size of a table; default 64")
    parser.add_argument("--torch", action="store_true", help="beside PyTorch")
    given = parser.parse_args()
    unknown = set(given.bits) - set(_OPERATORS)
    if unknown:
        parser.error(f"expected bits to be 32, 8 or 4, found {min(unknown)}")
    copy = copied(given.seconds)
    print(f"a copy reads and writes {copy / 1e9:.1f} GB/s")
    heads = ("bits", "columns", "rows of", "threads", "ns/row", "GB/s", "share", "lines")
    heads = (*heads, "as f32", *(["torch"] if given.torch else []))
    print("{:>4} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6} {:>6} {:>7}".format(*heads), *heads[9:])
    for bits, columns, threads in product(given.bits, given.columns, given.threads):
        bags = Bags(bits, columns)
        rows = max(1, (given.mib << 20) // bags.row_bytes)
        for where, named in (("table", rows), ("cache", NEAR_BYTES // bags.row_bytes)):
            named = min(named, rows)
            times = seconds_of(bags, rows, named, threads, given.seconds, given.torch)
            plain = seconds_of(bags.as_f32, rows, named, threads, given.seconds, False)
            each = [1e9 * time / BAGS / EACH for time in (times[0], *plain, *times[1:])]
            speed = bags.row_bytes / each[0]
            lines = lines_of(bags, rows) / each[0]
            print(
                f"{bits:4} {columns:7} {where:>7} {threads:7} {each[0]:7.1f} {speed:6.2f} "
                f"{1e9 * speed / copy:6.2f} {1e9 * lines / copy:6.2f} {each[1]:7.1f}"
                + "".join(f" {other:5.1f}" for other in each[2:]),
                flush=True,
            )


if __name__ == "__main__":
    main()
