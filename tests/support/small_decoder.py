"""A small decoder with caches of keys and values, as exporters of PyTorch write them."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import numpy_helper

HEADS, WIDTH, VOCABULARY, POSITIONS = 2, 10, 23, 64

_ATTENTION = """
  q{n}_0 = MatMul(h{n}, wq{n})
  k{n}_0 = MatMul(h{n}, wk{n})
  v{n}_0 = MatMul(h{n}, wv{n})
  q{n}_1 = Reshape(q{n}_0, heads)
  k{n}_1 = Reshape(k{n}_0, heads)
  v{n}_1 = Reshape(v{n}_0, heads)
  q{n} = Transpose<perm = [0, 2, 1, 3]>(q{n}_1)
  k{n} = Transpose<perm = [0, 2, 1, 3]>(k{n}_1)
  v{n} = Transpose<perm = [0, 2, 1, 3]>(v{n}_1)
  present_{n}_k = Concat<axis = 2>(past_{n}_k, k{n})
  present_{n}_v = Concat<axis = 2>(past_{n}_v, v{n})
  kt{n} = Transpose<perm = [0, 1, 3, 2]>(present_{n}_k)
  s{n}_0 = MatMul(q{n}, kt{n})
  s{n}_1 = Mul(s{n}_0, scale)
  s{n}_2 = Add(s{n}_1, mask)
  p{n} = Softmax<axis = -1>(s{n}_2)
  a{n}_0 = MatMul(p{n}, present_{n}_v)
  a{n}_1 = Transpose<perm = [0, 2, 1, 3]>(a{n}_0)
  a{n} = Reshape(a{n}_1, joined)
  o{n} = MatMul(a{n}, wo{n})
  h{m} = Add(h{n}, o{n})
"""


def small_decoder(
    rng: np.random.Generator, masked: bool = False, bias: str = "", layers: int = 2
) -> onnx.ModelProto:
    """
    Returns a decoder whose positions follow from the size of its caches. It has an input
    `attention_mask` [batch, total] if it is `masked`. `bias` are nodes that change `mask_0`, what
    is added to scores, to `mask_1`.
    """
    caches = [f"{n}_{part}" for n in range(layers) for part in "kv"]
    shape = f"float[batch, {HEADS}, past, {WIDTH // 2}]"
    present = f"float[batch, {HEADS}, rows, {WIDTH // 2}]"
    inputs = ["int64[batch, sequence] ids", *(f"{shape} past_{c}" for c in caches)]
    inputs += ["int64[batch, total] attention_mask"] if masked else []
    outputs = [f"float[batch, sequence, {VOCABULARY}] logits"]
    outputs += [f"{present} present_{c}" for c in caches]
    padding = """
      seen = Cast<to = 9>(attention_mask)
      seen_1 = Unsqueeze(seen, one_two)
      allowed = And(causal, seen_1)
    """
    text = f"""
    <ir_version: 8, opset_import: ["" : 17]>
    decoder ({", ".join(inputs)}) => ({", ".join(outputs)}) {{
      past_shape = Shape(past_0_k)
      past_size = Gather<axis = 0>(past_shape, two)
      ids_shape = Shape(ids)
      new_size = Gather<axis = 0>(ids_shape, one)
      total_size = Add(past_size, new_size)
      positions = Range(past_size, total_size, one)
      columns = Range(zero, total_size, one)
      rows_1 = Unsqueeze(positions, one_axis)
      causal = LessOrEqual(columns, rows_1)
      {padding if masked else "allowed = Identity(causal)"}
      mask_0 = Where(allowed, nothing, lowest)
      {bias or "mask_1 = Identity(mask_0)"}
      mask = Identity(mask_1)
      tokens = Gather<axis = 0>(wte, ids)
      places = Gather<axis = 0>(wpe, positions)
      h0 = Add(tokens, places)
      {"".join(_ATTENTION.format(n=n, m=n + 1) for n in range(layers))}
      logits = MatMul(h{layers}, head)
    }}
    """
    model = onnx.parser.parse_model(text)
    values = _values(rng, layers)
    model.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in values.items())
    return model


def _values(rng: np.random.Generator, layers: int) -> dict[str, np.ndarray]:
    """Returns the initializers of a decoder."""
    values = {
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "two": np.array(2, np.int64),
        "one_axis": np.array([1], np.int64),
        "one_two": np.array([1, 2], np.int64),
        "heads": np.array([0, 0, HEADS, WIDTH // 2], np.int64),
        "joined": np.array([0, 0, WIDTH], np.int64),
        "scale": np.array(0.4, np.float32),
        "nothing": np.array(0, np.float32),
        "lowest": np.array(-np.inf, np.float32),
        "wte": rng.standard_normal((VOCABULARY, WIDTH), np.float32),
        "wpe": rng.standard_normal((POSITIONS, WIDTH), np.float32),
        "head": rng.standard_normal((WIDTH, VOCABULARY), np.float32),
    }
    for n in range(layers):
        for name in ("wq", "wk", "wv", "wo"):
            values[f"{name}{n}"] = rng.standard_normal((WIDTH, WIDTH), np.float32) / 4
    return values


def no_past(model: onnx.ModelProto, batch: int = 1) -> dict[str, np.ndarray]:
    """Returns empty caches."""
    names = [i.name for i in model.graph.input if i.name.startswith("past")]
    return {name: np.zeros((batch, HEADS, 0, WIDTH // 2), np.float32) for name in names}
