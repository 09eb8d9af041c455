"""
Networks for many callers at once.

    python examples/host/serve.py [--trace FILE.json] [--picture FILE.svg]

Classifies digits in three ways, and then runs a network that is split over three devices with
small memories. The trace of these requests can be written for https://ui.perfetto.dev, and drawn.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

import glow
import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from picture import draw
from PIL import Image

DIGITS = Path(__file__).resolve().parents[1] / "digits"
WIDTH, LAYERS, BATCH = 512, 6, 512
REQUESTS = 8


def images() -> dict[str, np.ndarray]:
    """Images of digits by the names of their files, as 1x1x8x8 f32, 0 to 1."""
    found = {}
    for path in sorted((DIGITS / "images").glob("*.png")):
        with Image.open(path) as image:
            found[path.stem] = np.asarray(image.convert("L"), np.float32)[None, None] / 255
    return found


def classify(host: glow.HostManager, inputs: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Returns the digits on images. All requests are made before the first result is awaited."""
    futures = {name: host.run("digits", [x]) for name, x in inputs.items()}
    return {name: int(future.result()[0].argmax()) for name, future in futures.items()}


async def classify_async(
    host: glow.HostManager, inputs: Mapping[str, np.ndarray]
) -> dict[str, int]:
    """Returns the same, with requests as tasks of `asyncio`."""
    results = await asyncio.gather(*(host.run_async("digits", [x]) for x in inputs.values()))
    return {name: int(y.argmax()) for name, (y,) in zip(inputs, results, strict=True)}


def classify_patiently(host: glow.HostManager, inputs: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Returns the same. If the queue is full, the oldest result is awaited first."""
    pending: dict[str, Future[list[np.ndarray]]] = {}
    digits: dict[str, int] = {}
    waiting = list(inputs.items())
    while waiting:
        name, x = waiting.pop(0)
        try:
            pending[name] = host.run("digits", [x])
        except glow.QueueFullError:
            waiting.insert(0, (name, x))
            oldest = next(iter(pending))
            digits[oldest] = int(pending.pop(oldest).result()[0].argmax())
    return digits | {name: int(f.result()[0].argmax()) for name, f in pending.items()}


def layers() -> ModelProto:
    """Returns fully connected layers with random weights, a megabyte each."""
    rng = np.random.default_rng(0)
    nodes, weights = [], []
    for i in range(LAYERS):
        w = rng.standard_normal((WIDTH, WIDTH)).astype(np.float32) / WIDTH**0.5
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"]))
        nodes.append(helper.make_node("Relu", [f"y{i}"], [f"x{i + 1}"]))
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [BATCH, WIDTH])
        for name in ("x0", f"x{LAYERS}")
    )
    graph = helper.make_graph(nodes, "layers", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run_split(trace: Path | None) -> dict[str, object]:
    """Runs several requests at once on three devices. Returns their trace."""
    x = np.random.default_rng(1).standard_normal((BATCH, WIDTH)).astype(np.float32)
    with glow.HostManager(["cpu"] * 3, memory=8_000_000) as host:
        info = host.add_network("layers", layers(), strategy="memory").result()
        for part in info.partitions:
            print(f"{part.name} on {part.device}: {part.memory}")
        for future in [host.run("layers", [x]) for _ in range(REQUESTS)]:
            future.result()
        latency = host.statistics().networks["layers"].latency
        print(f"latency: p50 {latency.p50 * 1e3:.2f} ms, p99 {latency.p99 * 1e3:.2f} ms")
        for name, device in host.statistics().devices.items():
            print(f"{name}: {device.runs} runs, busy for {device.busy * 1e3:.1f} ms")
        if trace:
            host.write_trace(trace)
        return host.trace()


def main() -> int:
    parser = argparse.ArgumentParser(description="Run networks through a host manager.")
    parser.add_argument("--trace", type=Path, help="write the trace of the split network")
    parser.add_argument("--picture", type=Path, help="draw it as SVG")
    options = parser.parse_args()
    inputs = images()
    with glow.HostManager(["cpu", "cpu"], max_active=4, max_queue=200) as host:
        host.add_network("digits", DIGITS / "digits.onnx").result()
        found = [
            classify(host, inputs),
            asyncio.run(classify_async(host, inputs)),
            classify_patiently(host, inputs),
        ]
    right = [sum(name.endswith(f"_is_{digit}") for name, digit in d.items()) for d in found]
    print(f"{len(inputs)} images, right: {right}")
    trace = run_split(options.trace)
    if options.picture:
        options.picture.write_text(draw(trace), encoding="utf-8")
    return 0 if min(right) == len(inputs) else 1


if __name__ == "__main__":
    raise SystemExit(main())
