"""The shape of a decoder like Llama with 100 million parameters."""

from __future__ import annotations

LLAMA_100M: dict[str, int | bool] = {
    "vocab_size": 32000,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "intermediate_size": 2048,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}
"""The options of `transformers.LlamaConfig`."""
