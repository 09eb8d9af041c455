"""
llama.cpp as a peer of decoders: a Llama of random weights in a GGUF file, run token by token.

It needs the packages `llama-cpp-python` and `gguf`, which are not among the dependencies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from pathlib import Path
from typing import Any

import gguf  # pyright: ignore[reportMissingImports]
import llama_cpp as _llama_cpp  # pyright: ignore[reportMissingImports]
import numpy as np

# its functions take pointers of C, which may be None
llama_cpp: Any = _llama_cpp

_FORMATS = {4: gguf.GGMLQuantizationType.Q4_0, 8: gguf.GGMLQuantizationType.Q8_0}


class LlamaPeer:
    """A Llama in llama.cpp."""

    def __init__(
        self, folder: Path, shape: Mapping[str, int | bool], bits: int, rows: int, threads: int
    ):
        """
        Writes the network to `folder` and loads it. `shape` are options of
        `transformers.LlamaConfig`; matrices have 4 or 8 bits (the formats Q4_0 and Q8_0), or are
        f32. Memory for keys and values has `rows` rows.
        """
        path = folder / "llama.gguf"
        _write(path, {name: int(value) for name, value in shape.items()}, bits)
        llama_cpp.llama_log_set(llama_cpp.llama_log_callback(_no_log), None)
        self._model = llama_cpp.llama_model_load_from_file(
            str(path).encode(), llama_cpp.llama_model_default_params()
        )
        options = llama_cpp.llama_context_default_params()
        options.n_ctx, options.n_batch = rows, rows
        options.n_threads = options.n_threads_batch = threads
        self._context = llama_cpp.llama_init_from_model(self._model, options)
        if not self._context:
            raise RuntimeError(f"llama.cpp cannot load {path}")

    def run(self, tokens: np.ndarray) -> None:
        """Computes the logits behind new tokens of one sequence."""
        ids = (llama_cpp.llama_token * tokens.size)(*tokens.ravel().tolist())
        batch = llama_cpp.llama_batch_get_one(ids, tokens.size)
        if llama_cpp.llama_decode(self._context, batch):
            raise RuntimeError("llama.cpp cannot compute the next token")


@llama_cpp.llama_log_callback
def _no_log(level: int, text: bytes, data: object) -> None:
    """Drops what llama.cpp would print."""


def _write(path: Path, shape: Mapping[str, int], bits: int) -> None:
    writer: Any = gguf.GGUFWriter(str(path), "llama")
    heads = shape["num_attention_heads"]
    writer.add_context_length(shape["max_position_embeddings"])
    writer.add_embedding_length(shape["hidden_size"])
    writer.add_block_count(shape["num_hidden_layers"])
    writer.add_feed_forward_length(shape["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(shape["num_key_value_heads"])
    writer.add_rope_dimension_count(shape["hidden_size"] // heads)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(shape["vocab_size"])
    writer.add_tokenizer_model("none")
    rng = np.random.default_rng(0)
    for name, sizes in _tensors(shape):
        if len(sizes) == 1:
            writer.add_tensor(name, np.ones(sizes, np.float32))
            continue
        array = rng.standard_normal(sizes, np.float32) / sqrt(sizes[-1])
        if bits not in _FORMATS:
            writer.add_tensor(name, array)
            continue
        form = _FORMATS[bits]
        writer.add_tensor(name, gguf.quants.quantize(array, form), raw_dtype=form)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(shape: Mapping[str, int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the names and shapes of tensors; the output shares the matrix of the embeddings."""
    width, inner = shape["hidden_size"], shape["intermediate_size"]
    narrow = width // shape["num_attention_heads"] * shape["num_key_value_heads"]
    yield "token_embd.weight", (shape["vocab_size"], width)
    yield "output_norm.weight", (width,)
    for i in range(shape["num_hidden_layers"]):
        yield f"blk.{i}.attn_norm.weight", (width,)
        yield f"blk.{i}.ffn_norm.weight", (width,)
        for name, rows, columns in (
            ("attn_q", width, width),
            ("attn_k", narrow, width),
            ("attn_v", narrow, width),
            ("attn_output", width, width),
            ("ffn_gate", inner, width),
            ("ffn_up", inner, width),
            ("ffn_down", width, inner),
        ):
            yield f"blk.{i}.{name}.weight", (rows, columns)
