"""
Compares the speed of ensembles of decision trees with that of onnxruntime.

    python -m glow.benchmarks.trees [--threads 1,2] [--batch 1,1000] [--seconds 1] [--only 500x6]

A row is a number of complete trees and their depth, on 30 features, with random tests, as a
regression (one number for a leaf) and with five targets (a number for each). Both run on the same
features, first glow, since the threads of onnxruntime spin after a call. Their results are
compared. The ratio is the time of onnxruntime divided by that of glow: above 1, glow is faster.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import glow
import numpy as np
import onnx
from glow.benchmarks.run import counts
from onnx import TensorProto, helper

FEATURES = 30
SHAPES = ((100, 8), (500, 6), (1000, 4), (50, 12))
"""Numbers of trees, and steps to their leaves."""


def ensemble(trees: int, depth: int, targets: int, batch: int) -> onnx.ModelProto:
    """Returns a regression by complete trees whose tests and leaves are random."""
    rng = np.random.default_rng(0)
    inner, count = (1 << depth) - 1, (2 << depth) - 1
    node = np.arange(count)
    is_leaf = node >= inner
    leaves = np.repeat(node[is_leaf], targets)
    each = len(leaves)
    attributes: dict[str, Any] = {
        "nodes_treeids": np.repeat(np.arange(trees), count),
        "nodes_nodeids": np.tile(node, trees),
        "nodes_featureids": rng.integers(0, FEATURES, trees * count),
        "nodes_values": rng.standard_normal(trees * count).astype(np.float32),
        "nodes_modes": np.tile(np.where(is_leaf, "LEAF", "BRANCH_LEQ"), trees),
        "nodes_truenodeids": np.tile(np.where(is_leaf, 0, 2 * node + 1), trees),
        "nodes_falsenodeids": np.tile(np.where(is_leaf, 0, 2 * node + 2), trees),
        "target_treeids": np.repeat(np.arange(trees), each),
        "target_nodeids": np.tile(leaves, trees),
        "target_ids": np.tile(np.arange(targets), trees * each // targets),
        "target_weights": rng.standard_normal(trees * each).astype(np.float32),
    }
    lists = {name: values.tolist() for name, values in attributes.items()}
    made = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=targets, **lists
    )
    graph = helper.make_graph(
        [made],
        "trees",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, FEATURES])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, targets])],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def measure(model: onnx.ModelProto, threads: int, seconds: float) -> tuple[float, float, float]:
    """
    Returns the shortest times of glow and of onnxruntime, in seconds, and the largest difference of
    their results, as a part of the largest result.
    """
    import onnxruntime  # only the benchmark needs it

    batch = model.graph.input[0].type.tensor_type.shape.dim[0].dim_value
    x = np.random.default_rng(1).standard_normal((batch, FEATURES)).astype(np.float32)
    ours = glow.compile(model, threads=threads)
    our_time = shortest(lambda: ours(x), seconds / 2)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    their_time = shortest(lambda: session.run(None, {"x": x}), seconds / 2)
    found, wanted = np.asarray(ours(x)), np.asarray(session.run(None, {"x": x})[0])
    apart = float(np.abs(found.reshape(wanted.shape) - wanted).max() / np.abs(wanted).max())
    return our_time, their_time, apart


def shortest(run: Callable[[], object], seconds: float) -> float:
    """Returns the shortest time of runs in so many seconds, of at least ten."""
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or best == float("inf"):
        for _ in range(10):
            start = time.perf_counter()
            run()
            best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description="Times decision trees beside onnxruntime.")
    parser.add_argument("--threads", type=counts, default=[1, 2], help="default 1,2")
    parser.add_argument("--batch", type=counts, default=[1, 1000], help="default 1,1000")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row; default 1")
    parser.add_argument("--only", action="append", help="a row, such as 500x6; default all")
    given = parser.parse_args()
    print(
        f"{'':10} {'targets':>7} {'batch':>5} {'threads':>7} {'glow':>11} {'ort':>11} {'ratio':>6}"
    )
    for trees, depth in SHAPES:
        if f"{trees}x{depth}" not in (given.only or [f"{trees}x{depth}"]):
            continue
        for targets in (1, 5):
            for batch in given.batch:
                for threads in given.threads:
                    model = ensemble(trees, depth, targets, batch)
                    ours, theirs, apart = measure(model, threads, given.seconds)
                    print(
                        f"{f'{trees}x{depth}':10} {targets:7} {batch:5} {threads:7} "
                        f"{1e3 * ours:8.3f} ms {1e3 * theirs:8.3f} ms {theirs / ours:6.2f} "
                        f"{apart:8.1e}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
