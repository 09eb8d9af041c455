"""Cutting weights out of serialized models, compared with what the protobuf library reads."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from glow.benchmarks.networks import NETWORKS, network_graph_file
from glow.frontend.onnx.wire import THRESHOLD, WireError, payload_of, strip_payloads
from onnx import ModelProto, TensorProto, helper, numpy_helper

DTYPES = [
    *(TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16),
    *(TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64),
    *(TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64),
    TensorProto.BOOL,
]


def restored(data: bytes) -> ModelProto:
    """Returns the stripped model with all payloads put back from where their markers point."""
    stripped = ModelProto.FromString(strip_payloads(memoryview(data)))
    graphs = [stripped.graph]
    tensors = [*stripped.graph.initializer]
    nodes = [n for g in graphs for n in g.node] + [n for f in stripped.functions for n in f.node]
    for attribute in (a for n in nodes for a in n.attribute):
        if attribute.HasField("t"):
            tensors.append(attribute.t)
        if attribute.HasField("g"):
            tensors.extend(attribute.g.initializer)
    for tensor in tensors:
        place = payload_of(tensor)
        if place is not None:
            tensor.raw_data = data[place[0] : place[0] + place[1]]
            tensor.ClearField("external_data")
    return stripped


def tensor(dtype: int, shape: tuple[int, ...], raw: bool, rng: np.random.Generator) -> TensorProto:
    numbers = rng.integers(0, 2 if dtype == TensorProto.BOOL else 100, shape)
    array = numbers.astype(helper.tensor_dtype_to_np_dtype(dtype))
    if raw:
        return numpy_helper.from_array(array, "w")
    return helper.make_tensor("w", dtype, shape, array.reshape(-1).tolist())


def with_tensor(found: TensorProto) -> ModelProto:
    inner = helper.make_graph([], "inner", [], [], [found])
    nodes = [
        helper.make_node("Constant", [], ["c"], value=found),
        helper.make_node("If", ["c"], ["d"], then_branch=inner, else_branch=inner),
    ]
    function = helper.make_function(
        "local", "F", [], ["c"], nodes[:1], [helper.make_opsetid("", 17)]
    )
    graph = helper.make_graph(nodes, "g", [], [], [found])
    return helper.make_model(graph, functions=[function])


@pytest.mark.parametrize("name", NETWORKS)
def test_graphs_of_networks_stay_the_same(name: str) -> None:
    data = network_graph_file(name).read_bytes()
    assert restored(data) == onnx.load(network_graph_file(name))


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (5, 7, 3)])
def test_every_kind_of_data(
    dtype: int, shape: tuple[int, ...], raw: bool, rng: np.random.Generator
) -> None:
    made = with_tensor(tensor(dtype, shape, raw, rng))
    found = restored(made.SerializeToString())
    want, have = (numpy_helper.to_array(m.graph.initializer[0]) for m in (made, found))
    np.testing.assert_array_equal(have, want)
    for have_node, want_node in zip(found.graph.node, made.graph.node, strict=True):
        assert have_node.op_type == want_node.op_type
    inner = found.graph.node[1].attribute[0].g.initializer[0]
    np.testing.assert_array_equal(numpy_helper.to_array(inner), want)
    constant = found.functions[0].node[0].attribute[0].t
    np.testing.assert_array_equal(numpy_helper.to_array(constant), want)


def test_large_payloads_are_gone(rng: np.random.Generator) -> None:
    found = tensor(TensorProto.FLOAT, (100, 1000), True, rng)
    data = with_tensor(found).SerializeToString()
    assert len(data) > 4 * 400_000
    assert len(strip_payloads(memoryview(data))) < 1000


def test_small_payloads_stay(rng: np.random.Generator) -> None:
    found = tensor(TensorProto.UINT8, (THRESHOLD - 1,), True, rng)
    data = with_tensor(found).SerializeToString()
    assert strip_payloads(memoryview(data)) == data


@pytest.mark.parametrize("cut", [1, 2, 50, 1000, 30_000])
def test_truncated(cut: int, rng: np.random.Generator) -> None:
    data = with_tensor(tensor(TensorProto.FLOAT, (100, 100), True, rng)).SerializeToString()
    with pytest.raises(WireError, match="byte"):
        strip_payloads(memoryview(data[:-cut]))


def test_random_bytes_end_in_an_error_or_a_message(rng: np.random.Generator) -> None:
    for size in (1, 2, 3, 10, 100, 1000):
        for _ in range(50):
            data = rng.bytes(size)
            try:
                strip_payloads(memoryview(data))
            except WireError:
                continue


def delimited(number: int, body: bytes) -> bytes:
    length = bytes([len(body) & 0x7F | 0x80, len(body) >> 7 & 0x7F | 0x80, len(body) >> 14])
    return bytes([number << 3 | 2]) + length + body


def test_deep_nesting_is_refused() -> None:
    message = b""
    padding = delimited(14, b"x" * THRESHOLD)
    for _ in range(100):
        for number in (6, 5, 1):  # a graph in an attribute in a node
            message = delimited(number, message + padding)
    with pytest.raises(WireError, match="deeper"):
        strip_payloads(memoryview(delimited(7, message)))
