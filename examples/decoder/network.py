"""
A small decoder of characters, as a network to train and as an ONNX model with caches.

The network is that of GPT-2 (Radford et al. 2019): embeddings of characters and positions, then
blocks of attention and a feed-forward part, each behind a layer normalisation and added to its
input.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from glow import nn
from onnx import numpy_helper

WIDTH, HEADS, LAYERS = 128, 4, 2
POSITIONS = 256
"""The characters of the longest text."""
VOCABULARY = 96
"""The line end, then the 95 printable characters of ASCII in their order."""
_PAD = -1e9
"""The number that is added to scores of keys behind their query."""


def tokens_of(text: str) -> list[int]:
    """Returns the numbers of the characters of a text. Characters without a number are left out."""
    return [0 if c == "\n" else ord(c) - 31 for c in text if c == "\n" or " " <= c <= "~"]


def text_of(tokens: list[int]) -> str:
    """Returns the text of numbers of characters."""
    return "".join(chr(token + 31) if token else "\n" for token in tokens)


class Block(nn.Module):
    """One layer: attention to the positions so far, then a feed-forward part."""

    def __init__(self):
        self.before = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiHeadAttention(WIDTH, HEADS)
        self.between = nn.LayerNorm(WIDTH)
        self.wide = nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)

    def __call__(self, x: nn.Tensor, mask: nn.Tensor) -> nn.Tensor:
        x = x + self.attention(self.before(x), mask)
        return x + self.narrow(nn.gelu(self.wide(self.between(x))))


class Decoder(nn.Module):
    """Scores of the next character [N, positions, VOCABULARY] for characters [N, positions]."""

    def __init__(self):
        self.characters = nn.Embedding(VOCABULARY, WIDTH, nn.normal(0.02))
        self.places = nn.Parameter((POSITIONS, WIDTH), nn.normal(0.02))
        self.blocks = [Block() for _ in range(LAYERS)]
        self.last = nn.LayerNorm(WIDTH)
        self.scores = nn.Linear(WIDTH, VOCABULARY)

    def __call__(self, ids: nn.Tensor) -> nn.Tensor:
        count, length = ids.shape
        graph = ids.graph
        places = graph.parameter(self.places).slice([0, 0], [length, WIDTH])
        mask = graph.array(np.triu(np.full((length, length), _PAD, np.float32), 1))
        x = self.characters(ids) + places
        for block in self.blocks:
            x = block(x, mask.broadcast([count, HEADS, length, length]))
        return self.scores(self.last(x))


_FORM = """
<ir_version: 10, opset_import: ["" : 23]>
decoder ({inputs}) => ({outputs}) {{
  past_shape = Shape<start = 2, end = 3>(past_0_key)
  past_size = Squeeze(past_shape)
  ids_shape = Shape<start = 1, end = 2>(ids)
  new_size = Squeeze(ids_shape)
  total_size = Add(past_size, new_size)
  positions = Range(past_size, total_size, one)
  columns = Range(zero, total_size, one)
  rows = Unsqueeze(positions, axis)
  mask = LessOrEqual(columns, rows)
  embedded = Gather<axis = 0>(characters_weight, ids)
  places_of_ids = Gather<axis = 0>(places, positions)
  x0 = Add(embedded, places_of_ids)
  {blocks}
  last_x = LayerNormalization<axis = -1, epsilon = 1e-5>(x{layers}, last_weight, last_bias)
  last_product = MatMul(last_x, scores_weight)
  logits = Add(last_product, scores_bias)
}}
"""
_BLOCK_FORM = """
  before_{n} = LayerNormalization<axis = -1, epsilon = 1e-5>
    (x{n}, {b}_before_weight, {b}_before_bias)
  project_{n} = MatMul(before_{n}, {b}_attention_project_weight)
  projected_{n} = Add(project_{n}, {b}_attention_project_bias)
  q_{n}, k_{n}, v_{n} = Split<axis = -1, num_outputs = 3>(projected_{n})
  a_{n}, present_{n}_key, present_{n}_value =
    Attention<q_num_heads = {heads}, kv_num_heads = {heads}>
    (q_{n}, k_{n}, v_{n}, mask, past_{n}_key, past_{n}_value)
  out_{n} = MatMul(a_{n}, {b}_attention_out_weight)
  joined_{n} = Add(out_{n}, {b}_attention_out_bias)
  y{n} = Add(x{n}, joined_{n})
  between_{n} = LayerNormalization<axis = -1, epsilon = 1e-5>
    (y{n}, {b}_between_weight, {b}_between_bias)
  wide_{n} = MatMul(between_{n}, {b}_wide_weight)
  wider_{n} = Add(wide_{n}, {b}_wide_bias)
  gelu_{n} = Gelu(wider_{n})
  narrow_{n} = MatMul(gelu_{n}, {b}_narrow_weight)
  narrower_{n} = Add(narrow_{n}, {b}_narrow_bias)
  x{m} = Add(y{n}, narrower_{n})
"""


def onnx_model(parameters: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """
    Returns the trained network as exporters write decoders. Inputs are `ids` i64[batch, new], and
    for each layer the keys and values of the past, f32[batch, heads, past, width / heads]; outputs
    are `logits` f32[batch, new, VOCABULARY], and the keys and values of past and new characters.
    """
    size = WIDTH // HEADS
    caches = [f"{n}_{part}" for n in range(LAYERS) for part in ("key", "value")]
    inputs = ["int64[batch, new] ids"]
    inputs += [f"float[batch, {HEADS}, past, {size}] past_{c}" for c in caches]
    outputs = [f"float[batch, new, {VOCABULARY}] logits"]
    outputs += [f"float[batch, {HEADS}, total, {size}] present_{c}" for c in caches]
    blocks = "".join(
        _BLOCK_FORM.format(n=n, m=n + 1, b=f"blocks_{n}", heads=HEADS) for n in range(LAYERS)
    )
    text = _FORM.format(
        inputs=", ".join(inputs), outputs=", ".join(outputs), blocks=blocks, layers=LAYERS
    )
    model = onnx.parser.parse_model(text)
    for name, array in _initializers(parameters).items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    onnx.checker.check_model(model)
    return model


def _initializers(parameters: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns the constants of the model. ONNX's products take weights [inputs, outputs]."""
    layers = ("project.weight", "out.weight", "wide.weight", "narrow.weight", "scores.weight")
    constants = {
        "zero": np.array(0, np.int64),
        "one": np.array(1, np.int64),
        "axis": np.array([1], np.int64),
    }
    weights = {
        name.replace(".", "_"): np.ascontiguousarray(array.T) if name.endswith(layers) else array
        for name, array in parameters.items()
    }
    return constants | weights


MODEL = Path(__file__).with_name("decoder.onnx")
"""The trained model."""
