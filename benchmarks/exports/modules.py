"""Modules around networks of transformers that take and return plain tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from transformers import DynamicCache, EncoderDecoderCache  # pyright: ignore[reportMissingImports]


class Selected(torch.nn.Module):
    """A network whose inputs have names, and some of its outputs."""

    def __init__(self, model: Any, inputs: Sequence[str], outputs: Sequence[str], **fixed: Any):
        super().__init__()
        self.model = model
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.fixed = fixed

    def forward(self, *values: Any) -> tuple[Any, ...]:
        found = self.model(**dict(zip(self.inputs, values, strict=True)), **self.fixed)
        return tuple(found[name] for name in self.outputs)


class DecoderStep(torch.nn.Module):
    """A decoder that takes the keys and values of earlier tokens and returns those of all."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, ids: Any, mask: Any, *past: Any) -> tuple[Any, ...]:
        pairs = [(past[i], past[i + 1]) for i in range(0, len(past), 2)]
        cache = DynamicCache(pairs)
        found = self.model(input_ids=ids, attention_mask=mask, past_key_values=cache)
        present = [t for layer in found.past_key_values.layers for t in (layer.keys, layer.values)]
        return found.logits, *present


class CrossDecoderStep(torch.nn.Module):
    """A step of a decoder that also attends to the states of an encoder."""

    def __init__(self, model: Any, states: str):
        super().__init__()
        self.model = model
        self.states = states

    def forward(self, ids: Any, states: Any, *past: Any) -> tuple[Any, ...]:
        pairs = [(past[i], past[i + 1]) for i in range(0, len(past), 2)]
        cache = EncoderDecoderCache(DynamicCache(pairs), DynamicCache())
        found = self.model(
            decoder_input_ids=ids, encoder_outputs=(states,), past_key_values=cache, use_cache=True
        )
        layers = found.past_key_values.self_attention_cache.layers
        return found.logits, *(t for layer in layers for t in (layer.keys, layer.values))
