"""Networks in plain PyTorch, of kinds that transformers lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.nn import functional as F  # pyright: ignore[reportMissingImports]

from .architecture import Architecture, Input, Scale, Sizes


def _convolution(
    channels: int, out: int, size: int, stride: int = 1, groups: int = 1, act: Any = nn.ReLU
) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, out, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(out),
        act(),
    )


class SqueezeExcite(nn.Module):
    """The gates of channels (Hu et al. 2018)."""

    def __init__(self, channels: int, hidden: int, act: Any, gate: Any):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.down, self.up = nn.Conv2d(channels, hidden, 1), nn.Conv2d(hidden, channels, 1)
        self.act, self.gate = act(), gate()

    def forward(self, x: Any) -> Any:
        return x * self.gate(self.up(self.act(self.down(self.pool(x)))))


class InvertedResidual(nn.Module):
    """The block of MobileNetV3 and EfficientNet."""

    def __init__(
        self, *, channels: int, hidden: int, out: int, size: int, stride: int, act: Any, gates: Any
    ):
        super().__init__()
        layers: list[Any] = []
        if hidden != channels:
            layers.append(_convolution(channels, hidden, 1, act=act))
        layers.append(_convolution(hidden, hidden, size, stride, hidden, act))
        if gates is not None:
            layers.append(gates(channels, hidden))
        layers.append(_convolution(hidden, out, 1, act=nn.Identity))
        self.layers = nn.Sequential(*layers)
        self.residual = stride == 1 and channels == out

    def forward(self, x: Any) -> Any:
        return x + self.layers(x) if self.residual else self.layers(x)


def _classifier(stem: list[Any], channels: int, hidden: int, classes: int, act: Any) -> Any:
    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten(1)]
    head = [nn.Linear(channels, hidden), act(), nn.Dropout(0.2), nn.Linear(hidden, classes)]
    return nn.Sequential(*stem, *pool, *head)


_V3 = (
    *((3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1)),
    *((5, 96, 40, True, True, 2), (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1)),
    *((5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1), (5, 288, 96, True, True, 2)),
    *((5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1)),
)
"""Kernel, hidden channels, channels, gates, hard-swish, stride (Howard et al. 2019, table 2)."""


def mobilenet_v3(width: float, classes: int) -> Any:
    """Returns MobileNetV3-Small."""

    def wide(channels: int) -> int:
        return max(8, int(channels * width + 4) // 8 * 8)

    def gates(channels: int, hidden: int) -> Any:
        return SqueezeExcite(hidden, max(8, hidden // 4 // 8 * 8), nn.ReLU, nn.Hardsigmoid)

    layers: list[Any] = [_convolution(3, wide(16), 3, 2, act=nn.Hardswish)]
    channels = wide(16)
    for size, hidden, out, gated, swish, stride in _V3:
        act = nn.Hardswish if swish else nn.ReLU
        block = InvertedResidual(
            channels=channels,
            hidden=wide(hidden),
            out=wide(out),
            size=size,
            stride=stride,
            act=act,
            gates=gates if gated else None,
        )
        layers.append(block)
        channels = wide(out)
    layers.append(_convolution(channels, wide(576), 1, act=nn.Hardswish))
    return _classifier(layers, wide(576), wide(1024), classes, nn.Hardswish)


_B0 = (
    *((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5)),
    *((6, 192, 4, 2, 5), (6, 320, 1, 1, 3)),
)
"""Expansion, channels, blocks, stride, kernel (Tan and Le 2019, table 1)."""


def efficientnet_b0(width: float, most: int, classes: int) -> Any:
    """Returns EfficientNet-B0, with at most so many blocks in a stage."""

    def wide(channels: int) -> int:
        return max(8, int(channels * width + 4) // 8 * 8)

    def gates(channels: int, hidden: int) -> Any:
        return SqueezeExcite(hidden, max(1, channels // 4), nn.SiLU, nn.Sigmoid)

    channels = wide(32)
    layers: list[Any] = [_convolution(3, channels, 3, 2, act=nn.SiLU)]
    for expansion, out, blocks, stride, size in _B0:
        for i in range(min(blocks, most)):
            block = InvertedResidual(
                channels=channels,
                hidden=channels * expansion,
                out=wide(out),
                size=size,
                stride=stride if i == 0 else 1,
                act=nn.SiLU,
                gates=gates,
            )
            layers.append(block)
            channels = wide(out)
    layers.append(_convolution(channels, wide(1280), 1, act=nn.SiLU))
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(wide(1280), classes)
    )


class UNet(nn.Module):
    """U-Net (Ronneberger et al. 2015), which upsamples with weights or bilinearly."""

    def __init__(self, width: int, depth: int, bilinear: bool):
        super().__init__()
        sizes = [width * 2**i for i in range(depth + 1)]
        self.down = nn.ModuleList()
        for i, out in enumerate(sizes):
            channels = 3 if i == 0 else sizes[i - 1]
            self.down.append(
                nn.Sequential(_convolution(channels, out, 3), _convolution(out, out, 3))
            )
        self.up = nn.ModuleList()
        self.merge = nn.ModuleList()
        for fine, coarse in reversed(list(zip(sizes[:-1], sizes[1:], strict=True))):
            if bilinear:
                grow: Any = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
                joined = fine + coarse
            else:
                grow, joined = nn.ConvTranspose2d(coarse, fine, 2, 2), 2 * fine
            self.up.append(grow)
            self.merge.append(
                nn.Sequential(_convolution(joined, fine, 3), _convolution(fine, fine, 3))
            )
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Any) -> Any:
        kept = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        kept.pop()
        for up, merge in zip(self.up, self.merge, strict=True):
            beside, x = kept.pop(), up(x)
            # odd sizes: as in many public implementations
            high, wide = beside.shape[2] - x.shape[2], beside.shape[3] - x.shape[3]
            x = F.pad(x, [wide // 2, wide - wide // 2, high // 2, high - high // 2])
            x = merge(torch.cat([beside, x], 1))
        return self.head(x)


class YoloLike(nn.Module):
    """A one-stage detector of three scales, whose boxes are decoded in the network."""

    def __init__(self, width: int, classes: int):
        super().__init__()
        self.classes = classes
        w = width
        self.stem = nn.Sequential(
            _convolution(3, w, 3, 2, act=nn.SiLU), _convolution(w, 2 * w, 3, 2, act=nn.SiLU)
        )
        self.stages = nn.ModuleList(
            _convolution(2 * w * 2**i, 4 * w * 2**i, 3, 2, act=nn.SiLU) for i in range(3)
        )
        self.spread = nn.Sequential(nn.MaxPool2d(5, 1, 2), nn.MaxPool2d(5, 1, 2))
        self.narrow = _convolution(24 * w, 8 * w, 1, act=nn.SiLU)
        self.heads = nn.ModuleList(
            nn.Conv2d(c, 3 * (5 + classes), 1) for c in (12 * w, 24 * w, 16 * w)
        )
        self.register_buffer("anchors", torch.rand(3, 3, 2) * 50 + 10)

    def forward(self, image: Any) -> tuple[Any, Any]:
        x = self.stem(image)
        found = []
        for stage in self.stages:
            x = stage(x)
            found.append(x)
        small, middle, large = found
        large = self.spread(large)
        middle = torch.cat([middle, F.interpolate(large, size=middle.shape[-2:])], 1)
        small = torch.cat([small, F.interpolate(self.narrow(middle), scale_factor=2.0)], 1)
        rows = []
        for i, (x, head) in enumerate(zip((small, middle, large), self.heads, strict=True)):
            rows.append(self._decoded(head(x), i))
        rows = torch.cat(rows, 1)
        boxes, scores = rows[..., :4], rows[..., 4:5] * rows[..., 5:]
        center, size = boxes[..., :2], boxes[..., 2:]
        best = scores.max(-1).values.topk(10).indices
        corners = torch.cat([center - size / 2, center + size / 2], -1)
        return corners.gather(1, best[..., None].expand(-1, -1, 4)), scores

    def _decoded(self, x: Any, level: int) -> Any:
        batch, _, high, wide = x.shape
        x = x.view(batch, 3, 5 + self.classes, high, wide).permute(0, 1, 3, 4, 2).sigmoid()
        y, z = torch.meshgrid(torch.arange(high), torch.arange(wide), indexing="ij")
        grid = torch.stack((z, y), 2).to(x.dtype)
        stride = 8 * 2**level
        xy = (x[..., :2] * 2 - 0.5 + grid) * stride
        wh = (x[..., 2:4] * 2) ** 2 * self.anchors[level].view(1, 3, 1, 1, 2)
        return torch.cat([xy, wh, x[..., 4:]], -1).view(batch, -1, 5 + self.classes)


class DetrLike(nn.Module):
    """The transformer of torch.nn over the features of a few convolutions (Carion et al. 2020)."""

    def __init__(self, width: int, layers: int, queries: int):
        super().__init__()
        self.features = nn.Sequential(
            _convolution(3, width, 7, 4), _convolution(width, width, 3, 2), _convolution(width, width, 3, 2)
        )
        self.transformer = nn.Transformer(width, 4, layers, layers, 2 * width, batch_first=True)
        self.queries = nn.Parameter(torch.rand(queries, width))
        self.rows, self.columns = (nn.Parameter(torch.rand(50, width // 2)) for _ in range(2))
        self.classes, self.boxes = nn.Linear(width, 7), nn.Linear(width, 4)

    def forward(self, image: Any) -> tuple[Any, Any]:
        h = self.features(image)
        high, wide = h.shape[-2:]
        columns = self.columns[:wide].unsqueeze(0).repeat(high, 1, 1)
        rows = self.rows[:high].unsqueeze(1).repeat(1, wide, 1)
        places = torch.cat([columns, rows], -1).flatten(0, 1).unsqueeze(0)
        tokens = places + 0.1 * h.flatten(2).transpose(1, 2)
        queries = self.queries.unsqueeze(0).expand(image.shape[0], -1, -1)
        h = self.transformer(tokens, queries)
        return self.classes(h), self.boxes(h).sigmoid()


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
        return self.last(F.relu(total))


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
    """An encoder of torch.nn over tokens with a padding mask, and a mean over what is no padding."""

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


def _images(small: Callable[[], Any], full: Callable[[], Any], edge: int = 224) -> Architecture:
    image = Input("image", ("batch", 3, 64, 64))
    large = Input("image", ("batch", 3, edge, edge))
    return Architecture(
        _scale(small, [image], {"batch": 2}, {"batch": 1}, {"batch": 3}),
        _scale(full, [large], {"batch": 1}),
    )


def _planes(small: Callable[[], Any], full: Callable[[], Any], edge: int) -> Architecture:
    """Returns a network over images of any size."""
    image = [Input("image", ("batch", 3, "height", "width"))]
    sizes = [{"batch": b, "height": h, "width": w} for b, h, w in ((1, 64, 96), (2, 96, 64), (1, 128, 64))]
    large = {"batch": 1, "height": edge, "width": edge}
    return Architecture(_scale(small, image, *sizes), _scale(full, image, large))


def _tagger(kind: str, packed: bool) -> Architecture:
    ids = Input("ids", ("batch", "sequence"), "ids", 211)
    inputs = [ids]
    if packed:
        inputs.append(Input("lengths", ("batch",), "lengths", longest="sequence"))
    sizes = [{"batch": b, "sequence": s} for b, s in ((2, 7), (1, 12), (3, 5))]
    return Architecture(
        _scale(lambda: Tagger(kind, 16, 2, packed), inputs, *sizes),
        _scale(lambda: Tagger(kind, 128, 2, packed), inputs, {"batch": 1, "sequence": 40}),
    )


_STEPS = [Input("x", ("batch", "sequence", 8)), Input("mask", ("batch", "sequence"), "mask")]
_LENGTHS = [{"batch": b, "sequence": s} for b, s in ((2, 7), (1, 12), (3, 5))]

PLAIN: Mapping[str, Architecture] = {
    "mobilenet-v3": _images(lambda: mobilenet_v3(0.5, 10), lambda: mobilenet_v3(1.0, 1000)),
    "efficientnet-b0": _images(
        lambda: efficientnet_b0(0.25, 1, 10), lambda: efficientnet_b0(1.0, 4, 1000)
    ),
    "unet": _planes(lambda: UNet(8, 3, False), lambda: UNet(32, 4, False), 192),
    "unet-bilinear": _planes(lambda: UNet(8, 3, True), lambda: UNet(32, 4, True), 192),
    "yolo-like": _planes(lambda: YoloLike(4, 3), lambda: YoloLike(16, 80), 320),
    "detr-like": _planes(lambda: DetrLike(32, 1, 9), lambda: DetrLike(256, 3, 100), 320),
    "wavenet": Architecture(
        _scale(
            lambda: WaveNetLike(8, 5),
            [Input("x", ("batch", 1, "samples"))],
            *({"batch": b, "samples": s} for b, s in ((2, 50), (1, 77), (1, 32))),
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
    "cell-loop": Architecture(_scale(lambda: CellLoop(8), _STEPS, *_LENGTHS)),
    "scripted-loop": Architecture(_scale(lambda: ScriptedLoop(8), _STEPS[:1], *_LENGTHS)),
    "torch-encoder": Architecture(
        _scale(
            lambda: SentenceEncoder(32, 2),
            [Input("ids", ("batch", "sequence"), "ids", 211), _STEPS[1]],
            *_LENGTHS,
        ),
        _scale(
            lambda: SentenceEncoder(384, 6),
            [Input("ids", ("batch", "sequence"), "ids", 211), _STEPS[1]],
            {"batch": 1, "sequence": 128},
        ),
    ),
}
"""Architectures by name."""
