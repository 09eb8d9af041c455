"""
Networks of the package transformers as ONNX files, with seeded random weights and fixed shapes.

    pip install torch transformers onnxscript
    python -m glow.benchmarks.transformers_networks build/networks [NAME...]
    python -m glow.benchmarks.run build/networks/vit_tiny.onnx

Only this program needs these packages. Each network is a small or usual size of its architecture.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import transformers as hf

OPSET = 18
_Network = tuple[torch.nn.Module, tuple[torch.Tensor, ...]]


class _FirstTensor(torch.nn.Module):
    """A model of which only the first result is an output."""

    def __init__(self, model: torch.nn.Module, **fixed: Any):
        super().__init__()
        self.model = model
        self.fixed = fixed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x, **self.fixed, return_dict=False)[0]


class _Step(torch.nn.Module):
    """One step of a decoder with a cache of keys and values, which are further inputs."""

    def __init__(self, model: hf.GPT2LMHeadModel):
        super().__init__()
        self.model = model

    def forward(self, token: torch.Tensor, *past: torch.Tensor) -> tuple[torch.Tensor, ...]:
        pairs = list(zip(past[::2], past[1::2], strict=True))
        cache = hf.DynamicCache(pairs)
        out = self.model(token, past_key_values=cache, use_cache=True)
        now = [t for layer in out.past_key_values.layers for t in (layer.keys, layer.values)]
        return (out.logits, *now)


def _image(size: int = 224) -> tuple[torch.Tensor, ...]:
    return (torch.randn(1, 3, size, size),)


def _tokens(count: int) -> tuple[torch.Tensor, ...]:
    return (torch.randint(0, 1000, (1, count)),)


def _vit_tiny() -> _Network:
    sizes: Mapping[str, Any] = {"hidden_size": 192, "num_attention_heads": 3}
    config = hf.ViTConfig(**sizes, intermediate_size=768, num_labels=1000)
    return _FirstTensor(hf.ViTForImageClassification(config)), _image()


def _convnext_tiny() -> _Network:
    config = hf.ConvNextConfig(num_labels=1000)
    return _FirstTensor(hf.ConvNextForImageClassification(config)), _image()


def _efficientnet_b0() -> _Network:
    config = hf.EfficientNetConfig(
        width_coefficient=1.0, depth_coefficient=1.0, hidden_dim=1280, num_labels=1000
    )
    return _FirstTensor(hf.EfficientNetForImageClassification(config)), _image()


def _gpt2() -> hf.GPT2LMHeadModel:
    config = hf.GPT2Config(n_layer=6, n_embd=384, n_head=6, vocab_size=8192, n_positions=256)
    return hf.GPT2LMHeadModel(config)


def _gpt2_prompt() -> _Network:
    return _FirstTensor(_gpt2(), use_cache=False), _tokens(128)


def _gpt2_step() -> _Network:
    past = tuple(torch.randn(1, 6, 64, 64) for _ in range(12))
    return _Step(_gpt2()), (*_tokens(1), *past)


def _whisper_encoder() -> _Network:
    config = hf.WhisperConfig(
        d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536
    )
    encoder = hf.WhisperModel(config).get_encoder()
    return _FirstTensor(encoder), (torch.randn(1, 80, 3000),)


def _swin_tiny() -> _Network:
    return _FirstTensor(hf.SwinForImageClassification(hf.SwinConfig(num_labels=1000))), _image()


def _segformer_b0() -> _Network:
    config = hf.SegformerConfig(num_labels=150)
    return _FirstTensor(hf.SegformerForSemanticSegmentation(config)), _image(256)


def _bert_small() -> _Network:
    config = hf.BertConfig(
        hidden_size=512, num_hidden_layers=4, num_attention_heads=8, intermediate_size=2048
    )
    return _FirstTensor(hf.BertModel(config)), _tokens(128)


NETWORKS: Mapping[str, Callable[[], _Network]] = {
    "vit_tiny": _vit_tiny,
    "convnext_tiny": _convnext_tiny,
    "efficientnet_b0": _efficientnet_b0,
    "gpt2_128": _gpt2_prompt,
    "gpt2_step": _gpt2_step,
    "whisper_encoder": _whisper_encoder,
    "swin_tiny": _swin_tiny,
    "segformer_b0": _segformer_b0,
    "bert_small": _bert_small,
}
"""Functions that make a network and example inputs, by name."""


_TRACED = {"swin_tiny"}


def export(name: str, folder: Path, seed: int = 0) -> Path:
    """Returns the file of a network, in `folder`; weights depend on `seed`."""
    torch.manual_seed(seed)
    model, inputs = NETWORKS[name]()
    path = folder / f"{name}.onnx"
    # the exporter by torch.export does not take the views of Swin's windows
    options: Mapping[str, Any] = {"dynamo": False} if name in _TRACED else {"external_data": False}
    torch.onnx.export(model.eval(), inputs, str(path), opset_version=OPSET, **options)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Export networks of the package transformers.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NETWORKS)}; default: all")
    parsed = parser.parse_args()
    parsed.folder.mkdir(parents=True, exist_ok=True)
    for name in parsed.names or NETWORKS:
        print(export(name, parsed.folder))


if __name__ == "__main__":
    main()
