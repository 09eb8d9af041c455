"""Invented results of benchmarks."""

from __future__ import annotations

from itertools import product

import numpy as np
from glow.benchmarks.measurements import Case, Measurement, Results

NAMES = ("glow", "onnxruntime", "openvino")


def random_results(seed: int) -> Results:
    """
    Returns invented results, with two numbers of threads and a batch size that not all networks
    have.
    """
    rng = np.random.default_rng(seed)
    machine = {"cpu": "A & B", "cores": "2", "kind": "AVX2", "features": "AVX2"}
    results = Results(machine, {"glow": "1", "openvino": "2"}, {"rounds": 3, "repeat": 5}, "today")
    for network, batch, threads in product(("some", "other", "third"), (1, 8), (1, 2)):
        if batch == 8 and network != "some":
            continue
        case = Case(network, batch, threads)
        for name in NAMES:
            median, cold = rng.uniform(0.001, 0.5, 2)
            case.runtimes[name] = Measurement(median, median / 2, 7, cold, cold / 3, 10**8)
        results.cases.append(case)
    return results
