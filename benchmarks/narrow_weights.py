"""
Compares the speed at which products with weights of 8 and 4 bits read them with that of a copy.

    python -m glow.benchmarks.narrow_weights [--threads 1,2] [--size 4096] [--group 64]
                                             [--matrices 8] [--seconds 1]

A network is a chain of products of one row by square matrices, more than caches hold. The speed is
bytes of weights, scales and zero points that are read in a second. `read` is its share of the bytes
that a copy of 64 MiB reads in a second, `both` of those that the copy reads and writes, in as many
threads.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import glow
import numpy as np
import onnx
from glow.benchmarks.run import counts
from glow.benchmarks.trees import shortest
from onnx import helper, numpy_helper

_BITS = {"f32": 32, "u8": 8, "u4": 4}
_GROUP_BYTES = 5
"""The bytes of the scale and the zero point of a group."""


def chain(size: int, matrices: int, rng: np.random.Generator) -> onnx.ModelProto:
    """Returns a model of products of one row by random matrices, one after the other."""
    nodes, weights = [], []
    for i in range(matrices):
        matrix = rng.standard_normal((size, size), np.float32) / np.sqrt(np.float32(size))
        weights.append(numpy_helper.from_array(matrix, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [f"h{i}", f"w{i}"], [f"h{i + 1}"]))
    x, y = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, size])
        for name in ("h0", f"h{matrices}")
    )
    graph = helper.make_graph(nodes, "chain", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def copied(threads: int, seconds: float, size: int = 64 << 20) -> float:
    """Returns the bytes that copies of `size` bytes, one in each thread, read in a second."""
    pairs = [(np.empty(size, np.uint8), np.ones(size, np.uint8)) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        time = shortest(lambda: list(pool.map(lambda pair: np.copyto(*pair), pairs)), seconds)
    return threads * size / time


def read(model: onnx.ModelProto, storage: str, group: int, threads: int, seconds: float) -> float:
    """Returns the seconds of one run."""
    options: dict[str, Any] = {} if storage == "f32" else {"weights": storage, "group": group}
    run = glow.compile(model, threads=threads, cache=False, **options)
    (info,) = run.get_inputs()
    x = np.random.default_rng(1).standard_normal(info.shape).astype(np.float32)
    y = np.empty_like(x)
    return shortest(lambda: run.run_into([y], {info.name: x}), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description="Times products with narrow weights.")
    parser.add_argument("--threads", type=counts, default=[1, 2], help="default 1,2")
    parser.add_argument("--size", type=int, default=4096, help="of a matrix; default 4096")
    parser.add_argument("--group", type=int, default=64, help="default 64")
    parser.add_argument("--matrices", type=int, default=8, help="default 8")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row; default 1")
    given = parser.parse_args()
    model = chain(given.size, given.matrices, np.random.default_rng(0))
    numbers = given.size**2 * given.matrices
    print(f"{'weights':>7} {'threads':>7} {'us':>8} {'GB/s':>6} {'read':>5} {'both':>5}")
    for threads in given.threads:
        copy = copied(threads, given.seconds)
        for storage, bits in _BITS.items():
            time = read(model, storage, given.group, threads, given.seconds)
            groups = 0 if storage == "f32" else numbers // given.group * _GROUP_BYTES
            speed = (numbers * bits // 8 + groups) / time
            print(
                f"{storage:>7} {threads:7} {1e6 * time / given.matrices:8.1f} {speed / 1e9:6.1f} "
                f"{speed / copy:5.2f} {speed / copy / 2:5.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
