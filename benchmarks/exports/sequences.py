"""Networks over sequences in plain PyTorch: recurrent, convolutional, and torch.nn's encoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.nn import functional as F  # pyright: ignore[reportMissingImports]

from .architecture import LENGTHS, Architecture, Input, Scale, Sizes


class WaveNetLike(nn.Module):
    """Dilated causal convolutions with gates (van den Oord et al. 2016)."""

    def __init__(self, channels: int, layers: int):
        super().__init__()
        self.first = nn.Conv1d(1, channels, 1)
        self.dilated = nn.ModuleList(
            nn.Conv1d(channels, 2 * channels, 2, dilation=2**i) for i in range(layers)
        )
        self.out = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(layers))
        self.last = nn.Conv1d(channels, 16, 1)

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        total = 0
        for i, (dilated, out) in enumerate(zip(self.dilated, self.out, strict=True)):
            a, b = dilated(F.pad(x, (2**i, 0))).chunk(2, 1)
            skip = out(torch.tanh(a) * torch.sigmoid(b))
            x, total = x + skip, total + skip
        return self.last(F.relu(total))  # pyright: ignore[reportArgumentType]


class Tagger(nn.Module):
    """A bidirectional recurrent tagger, of sequences of several lengths if `packed`."""

    def __init__(self, kind: str, width: int, layers: int, packed: bool):
        super().__init__()
        self.embed = nn.Embedding(211, width)
        layer = getattr(nn, kind)
        self.recurrent = layer(width, width, layers, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(2 * width, 9)
        self.packed = packed

    def forward(self, ids: Any, lengths: Any = None) -> Any:
        x = self.embed(ids)
        if self.packed:
            rows = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
            rows, _ = self.recurrent(rows)
            x, _ = nn.utils.rnn.pad_packed_sequence(
                rows, batch_first=True, total_length=ids.shape[1]
            )
        else:
            x, _ = self.recurrent(x)
        return self.tags(x)


class CellLoop(nn.Module):
    """A recurrent cell in a Python loop over the steps, each of which a mask may skip."""

    def __init__(self, width: int):
        super().__init__()
        self.cell = nn.GRUCell(width, width)

    def forward(self, x: Any, mask: Any) -> Any:
        state = torch.zeros(x.shape[0], x.shape[2])
        found = []
        for t in range(x.shape[1]):
            new = self.cell(x[:, t], state)
            state = torch.where(mask[:, t, None] > 0, new, state)
            found.append(state)
        return torch.stack(found, 1)


@torch.jit.script
def _recurrence(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Computes a recurrence whose number of steps is a size; scripts become Loop nodes."""
    state = torch.zeros(x.size(0), x.size(2))
    for t in range(x.size(1)):
        state = torch.tanh(state @ weights + x[:, t])
    return state


class ScriptedLoop(nn.Module):
    """A recurrence that TorchScript exports as a Loop."""

    def __init__(self, width: int):
        super().__init__()
        self.weights = nn.Parameter(torch.randn(width, width) / width)

    def forward(self, x: Any) -> Any:
        return _recurrence(x, self.weights)


class SentenceEncoder(nn.Module):
    """An encoder of torch.nn over tokens with a padding mask, and a mean without padding."""

    def __init__(self, width: int, layers: int):
        super().__init__()
        self.embed = nn.Embedding(211, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.places = nn.Parameter(torch.rand(256, width))

    def forward(self, ids: Any, mask: Any) -> Any:
        x = self.embed(ids) + self.places[: ids.shape[1]]
        x = self.encoder(x, src_key_padding_mask=mask == 0)
        weights = mask.unsqueeze(-1).to(x.dtype)
        return F.normalize((x * weights).sum(1) / weights.sum(1).clamp(min=1e-9), dim=-1)


def _scale(build: Callable[[], Any], inputs: Sequence[Input], *sizes: Sizes) -> Scale:
    return Scale(build, inputs, sizes)


def _tagger(kind: str, packed: bool) -> Architecture:
    ids = Input("ids", ("batch", "sequence"), "ids", 211)
    inputs = [ids]
    if packed:
        inputs.append(Input("lengths", ("batch",), "lengths", longest="sequence"))
    return Architecture(
        _scale(lambda: Tagger(kind, 16, 2, packed), inputs, *LENGTHS),
        _scale(lambda: Tagger(kind, 128, 2, packed), inputs, {"batch": 1, "sequence": 40}),
    )


_STEPS = [Input("x", ("batch", "sequence", 8)), Input("mask", ("batch", "sequence"), "mask")]

SEQUENCES: Mapping[str, Architecture] = {
    "wavenet": Architecture(
        _scale(
            lambda: WaveNetLike(8, 5),
            [Input("x", ("batch", 1, "samples"))],
            *(
                {"batch": b, "samples": s}
                for b, s in ((2, 50), (1, 77), (1, 32), (3, 64), (1, 101))
            ),
        ),
        _scale(
            lambda: WaveNetLike(64, 10),
            [Input("x", ("batch", 1, "samples"))],
            {"batch": 1, "samples": 4000},
        ),
    ),
    "lstm-tagger": _tagger("LSTM", False),
    "gru-tagger": _tagger("GRU", False),
    "lstm-packed": _tagger("LSTM", True),
    "gru-packed": _tagger("GRU", True),
    "cell-loop": Architecture(_scale(lambda: CellLoop(8), _STEPS, *LENGTHS)),
    "scripted-loop": Architecture(_scale(lambda: ScriptedLoop(8), _STEPS[:1], *LENGTHS)),
    "torch-encoder": Architecture(
        _scale(
            lambda: SentenceEncoder(32, 2),
            [Input("ids", ("batch", "sequence"), "ids", 211), _STEPS[1]],
            *LENGTHS,
        ),
        _scale(
            lambda: SentenceEncoder(384, 6),
            [Input("ids", ("batch", "sequence"), "ids", 211), _STEPS[1]],
            {"batch": 1, "sequence": 128},
        ),
    ),
}
"""Architectures by name."""
