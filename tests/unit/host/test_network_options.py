"""`add_network` takes what `glow.compile` takes."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import pytest
from glow import GlowError, HostManager
from glow.quantization import Quantization
from glow.tests.support.gates import SECONDS
from glow.tests.support.seeds import shared_generator
from glow.tests.support.small_models import GRAPH, graph, small_network

X = shared_generator(__name__).standard_normal((2, 3, 8, 10)).astype(np.float32)
SYMBOLS: dict[str, int] = {"batch": np.int64(2)}  # pyright: ignore


def test_all_forms_of_models(tmp_path: Path) -> None:
    network = small_network(1)
    path, text = tmp_path / "small.onnx", tmp_path / "graph.mlir"
    path.write_bytes(network.SerializeToString())
    text.write_text(GRAPH)
    (expected, _) = glow.compile(network, "interpreter", symbols=SYMBOLS)(X)
    with HostManager("interpreter") as host:
        assert repr(host) == "<HostManager on interpreter0: no networks>"
        for form in (network, network.SerializeToString(), path, str(path)):
            host.add_network("n", form, symbols=SYMBOLS).result(SECONDS)
            np.testing.assert_array_equal(host.run("n", [X]).result(SECONDS)[0], expected)
            host.remove_network("n")
        for form in (graph(), text):
            host.add_network("n", form).result(SECONDS)
            assert repr(host) == "<HostManager on interpreter0: n>"
            host.remove_network("n")


def test_options_of_backends_and_of_the_graph() -> None:
    options = {"conv_algorithm": "direct", "threads": 2}
    quantize = Quantization(dynamic=True)
    model = glow.compile(small_network(1), symbols=SYMBOLS, quantize=quantize)
    with HostManager("cpu,interpreter") as host:
        for name, about in (("plain", {}), ("same", {}), ("other", options)):
            added = host.add_network(name, small_network(1), symbols=SYMBOLS, **about)
            added.result(SECONDS)
        assert host.statistics().devices["cpu0"].programs == 2
        (a, b) = (host.run(n, [X]).result(SECONDS)[1] for n in ("plain", "other"))
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        host.remove_network("other")
        assert host.statistics().devices["cpu0"].programs == 1
        host.add_network(
            "quantized",
            small_network(1),
            symbols=SYMBOLS,
            quantize=quantize,
        ).result(SECONDS)
        found = host.run("quantized", [X]).result(SECONDS)[1]
        np.testing.assert_allclose(found, model(X)[1], rtol=1e-4, atol=1e-5)
        assert np.abs(found - a).max() > 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_elements": 100}, "limit of 100"),
        ({"max_elements": 0}, "expected max_elements to be an integer of at least 1"),
        ({"quantize": {}}, "expected quantize to be"),
        ({"symbols": ["batch"]}, "expected symbols as a mapping"),
        ({"symbols": {}}, "shapes are not fixed"),
        ({"thread": 2}, "no option 'thread'; did you mean threads"),
        ({"threads": 0}, "expected threads"),
        ({"conv_algorithm": "fast"}, "expected conv_algorithm to be one of"),
    ],
)
def test_wrong_options(options: dict, message: str) -> None:
    with HostManager("cpu") as host, pytest.raises(GlowError, match=message):
        host.add_network("n", small_network(1), **{"symbols": SYMBOLS, **options}).result(SECONDS)


def test_options_that_no_device_has() -> None:
    with (
        HostManager("interpreter") as host,
        pytest.raises(GlowError, match=r"conv_algorithm: no device.*the backends are interpreter"),
    ):
        host.add_network("n", graph(), conv_algorithm="direct")
