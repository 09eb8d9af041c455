"""
The networks of `glow.benchmarks.training`, built with `glow.nn`.

Their parameters have the names of those in `glow.benchmarks.torch_networks`.
"""

from __future__ import annotations

import numpy as np
from glow import nn
from glow.glow_dialects.glow.activation import HardSwishOp


class DigitsCnn(nn.Module):
    """Three convolutions for images [N, 1, 8, 8]; scores of ten classes."""

    def __init__(self):
        self.conv0 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv1 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 32, 3, padding=1)
        self.fc = nn.Linear(128, 10)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        x = nn.relu(self.conv0(x))
        x = nn.max_pool(nn.relu(self.conv1(x)), 2)
        x = nn.max_pool(nn.relu(self.conv2(x)), 2)
        return self.fc(nn.flatten(x))


class Block(nn.Module):
    """A residual block of two convolutions (He et al. 2016)."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm(outputs)
        self.downsample: list[nn.Module] = []
        if stride != 1 or inputs != outputs:
            projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = [projection, nn.BatchNorm(outputs)]

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        y = nn.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        for layer in self.downsample:
            x = layer(x)
        return nn.relu(y + x)


class ResNet(nn.Module):
    """
    A residual network with two blocks for each width, for images [N, 3, H, W]. `imagenet` has the
    first layers for large images.
    """

    def __init__(self, widths: tuple[int, ...], classes: int, imagenet: bool = False):
        size, stride, padding = (7, 2, 3) if imagenet else (3, 1, 1)
        self.conv1 = nn.Conv2d(3, widths[0], size, stride, padding, bias=False)
        self.bn1 = nn.BatchNorm(widths[0])
        self.pool = imagenet
        self.blocks: list[nn.Module] = []
        inputs = widths[0]
        for i, width in enumerate(widths):
            self.blocks += [Block(inputs, width, 1 if i == 0 else 2), Block(width, width, 1)]
            inputs = width
        self.fc = nn.Linear(widths[-1], classes)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        x = nn.relu(self.bn1(self.conv1(x)))
        if self.pool:
            x = nn.max_pool(x, 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean([2, 3]))


class EncoderLayer(nn.Module):
    """A layer of a transformer with normalisations first (Xiong et al. 2020)."""

    def __init__(self, width: int, heads: int, hidden: int):
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiHeadAttention(width, heads)
        self.linear1, self.linear2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def __call__(self, x: nn.Tensor, mask: nn.Tensor | None = None) -> nn.Tensor:
        x = x + self.attention(self.norm1(x), mask)
        return x + self.linear2(nn.gelu(self.linear1(self.norm2(x))))


class Encoder(nn.Module):
    """Layers of a transformer on tokens [N, S]; scores of classes from the mean of positions."""

    def __init__(self, tokens: int, width: int, heads: int, layers: int, classes: int):
        self.embedding = nn.Embedding(tokens, width)
        self.layers = [EncoderLayer(width, heads, 4 * width) for _ in range(layers)]
        self.norm = nn.LayerNorm(width)
        self.fc = nn.Linear(width, classes)

    def __call__(self, tokens: nn.Tensor) -> nn.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.fc(self.norm(x).mean([1]))


class UNet(nn.Module):
    """One step down and one up, with the skip between them (Ronneberger et al. 2015)."""

    def __init__(self, width: int, classes: int):
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.leave = nn.Conv2d(2 * width, classes, 3, padding=1)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        x = nn.sigmoid(self.enter(x))
        y = nn.tanh(self.down(nn.avg_pool(x, 2)))
        return self.leave(nn.concat([x, self.up(y)], axis=1))


class Tagger(nn.Module):
    """
    Recurrent layers of a kind (`LSTM` or `GRU`) on tokens [N, S]; scores of classes from the mean
    of positions.
    """

    def __init__(
        self, kind: str, tokens: int, width: int, layers: int, classes: int, both: bool = False
    ):
        self.embedding = nn.Embedding(tokens, width)
        self.rnn = getattr(nn, kind)(width, width, layers, bidirectional=both)
        self.fc = nn.Linear(width * (1 + both), classes)

    def __call__(self, tokens: nn.Tensor) -> nn.Tensor:
        return self.fc(self.rnn(self.embedding(tokens)).mean([1]))


class Mobile(nn.Module):
    """
    An inverted residual with a depthwise convolution and a gate for each channel (Howard et al.
    2019, "MobileNetV3").
    """

    def __init__(self, width: int, classes: int):
        self.enter = nn.Conv2d(3, width, 3, 2, padding=1)
        self.expand = nn.Conv2d(width, 2 * width, 1)
        self.depthwise = nn.Conv2d(2 * width, 2 * width, 3, padding=1, group=2 * width)
        self.norm = nn.BatchNorm(2 * width)
        self.squeeze, self.gate = nn.Linear(2 * width, width), nn.Linear(width, 2 * width)
        self.project = nn.Conv2d(2 * width, width, 1)
        self.fc = nn.Linear(width, classes)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        x = nn.elementwise(HardSwishOp, self.enter(x))
        y = nn.elementwise(HardSwishOp, self.norm(self.depthwise(self.expand(x))))
        gate = nn.sigmoid(self.gate(nn.relu(self.squeeze(y.mean([2, 3])))))
        y = y * gate.reshape(*gate.shape, 1, 1)
        return self.fc((x + self.project(y)).mean([2, 3]))


class Dense(nn.Module):
    """Layers that read all earlier ones, and overlapping pools (Huang et al. 2017, "DenseNet")."""

    def __init__(self, width: int, layers: int, classes: int):
        self.norms = [nn.BatchNorm(1 + i * width) for i in range(layers)]
        self.convs = [nn.Conv2d(1 + i * width, width, 3, padding=1) for i in range(layers)]
        self.fc = nn.Linear(1 + layers * width, classes)

    def __call__(self, x: nn.Tensor) -> nn.Tensor:
        for norm, conv in zip(self.norms, self.convs, strict=True):
            x = nn.concat([x, conv(nn.relu(norm(x)))], axis=1)
        return self.fc(nn.max_pool(nn.avg_pool(x, 3, 2, 1), 2).mean([2, 3]))


class Decoder(nn.Module):
    """A transformer in which positions see none behind them; scores of tokens, [N, tokens, S]."""

    def __init__(self, tokens: int, positions: int, width: int, heads: int, layers: int):
        self.embedding = nn.Embedding(tokens, width)
        self.positions = nn.Parameter((positions, width), nn.normal(0.1))
        self.layers = [EncoderLayer(width, heads, 2 * width) for _ in range(layers)]
        self.fc = nn.Linear(width, tokens)
        self.mask = np.triu(np.full((positions, positions), -np.inf, np.float32), 1)
        self.heads = heads

    def __call__(self, tokens: nn.Tensor) -> nn.Tensor:
        graph, (n, count) = tokens.graph, tokens.shape
        mask = graph.array(self.mask).broadcast([n, self.heads, count, count])
        x = self.embedding(tokens) + graph.parameter(self.positions)
        for layer in self.layers:
            x = layer(x, mask)
        return self.fc(x).transpose(0, 2, 1)
