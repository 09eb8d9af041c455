"""Networks over images in plain PyTorch, of kinds that transformers lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch import nn  # pyright: ignore[reportMissingImports]
from torch.nn import functional as F  # pyright: ignore[reportMissingImports]

from .architecture import BATCHES, Architecture, Input, Scale


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
        for fine, coarse in reversed(list(pairwise(sizes))):
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
        wh = (x[..., 2:4] * 2) ** 2 * self.anchors[level].view(1, 3, 1, 1, 2)  # pyright: ignore[reportIndexIssue]
        return torch.cat([xy, wh, x[..., 4:]], -1).view(batch, -1, 5 + self.classes)


class DetrLike(nn.Module):
    """The transformer of torch.nn over the features of a few convolutions (Carion et al. 2020)."""

    def __init__(self, width: int, layers: int, queries: int):
        super().__init__()
        self.features = nn.Sequential(
            _convolution(3, width, 7, 4),
            _convolution(width, width, 3, 2),
            _convolution(width, width, 3, 2),
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


def _images(small: Callable[[], Any], full: Callable[[], Any], edge: int = 224) -> Architecture:
    image = Input("image", ("batch", 3, 64, 64))
    large = Input("image", ("batch", 3, edge, edge))
    return Architecture(
        Scale(small, [image], BATCHES),
        Scale(full, [large], ({"batch": 1},)),
    )


def _planes(small: Callable[[], Any], full: Callable[[], Any], edge: int) -> Architecture:
    """Returns a network over images of any size."""
    image = [Input("image", ("batch", 3, "height", "width"))]
    sizes = [
        {"batch": b, "height": h, "width": w}
        for b, h, w in ((1, 64, 96), (2, 96, 64), (1, 128, 64), (3, 64, 64), (1, 96, 160))
    ]
    large = {"batch": 1, "height": edge, "width": edge}
    return Architecture(Scale(small, image, sizes), Scale(full, image, [large]))


IMAGES: Mapping[str, Architecture] = {
    "mobilenet-v3": _images(lambda: mobilenet_v3(0.5, 10), lambda: mobilenet_v3(1.0, 1000)),
    "efficientnet-b0": _images(
        lambda: efficientnet_b0(0.25, 1, 10), lambda: efficientnet_b0(1.0, 4, 1000)
    ),
    "unet": _planes(lambda: UNet(8, 3, False), lambda: UNet(32, 4, False), 192),
    "unet-bilinear": _planes(lambda: UNet(8, 3, True), lambda: UNet(32, 4, True), 192),
    "yolo-like": _planes(lambda: YoloLike(4, 3), lambda: YoloLike(16, 80), 320),
    "detr-like": _planes(lambda: DetrLike(32, 1, 9), lambda: DetrLike(256, 3, 100), 320),
}
"""Architectures by name."""
