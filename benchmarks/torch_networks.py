"""The networks of `glow.benchmarks.training_networks` in PyTorch, and its steps."""

from __future__ import annotations

from typing import Any

import glow
import torch  # pyright: ignore[reportMissingImports]
from torch import Tensor, nn  # pyright: ignore[reportMissingImports]
from torch.nn import functional as f  # pyright: ignore[reportMissingImports]


class DigitsCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv0 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv1 = nn.Conv2d(16, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 32, 3, padding=1)
        self.fc = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = f.relu(self.conv0(x))
        x = f.max_pool2d(f.relu(self.conv1(x)), 2)
        x = f.max_pool2d(f.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        layers: list[nn.Module] = []
        if stride != 1 or inputs != outputs:
            projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            layers = [projection, nn.BatchNorm2d(outputs)]
        self.downsample = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        y = f.relu(self.bn1(self.conv1(x)))
        return f.relu(self.bn2(self.conv2(y)) + self.downsample(x))


class ResNet(nn.Module):
    def __init__(self, widths: tuple[int, ...], classes: int, imagenet: bool = False):
        super().__init__()
        size, stride, padding = (7, 2, 3) if imagenet else (3, 1, 1)
        self.conv1 = nn.Conv2d(3, widths[0], size, stride, padding, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        self.pool = imagenet
        self.blocks = nn.ModuleList()
        inputs = widths[0]
        for i, width in enumerate(widths):
            self.blocks += [Block(inputs, width, 1 if i == 0 else 2), Block(width, width, 1)]
            inputs = width
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x: Tensor) -> Tensor:
        x = f.relu(self.bn1(self.conv1(x)))
        if self.pool:
            x = f.max_pool2d(x, 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads = heads

    def forward(self, x: Tensor, causal: bool) -> Tensor:
        n, positions, width = x.shape
        parts = self.project(x).reshape(n, positions, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = f.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.out(y.transpose(1, 2).reshape(n, positions, width))


class EncoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.linear1, self.linear2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor, causal: bool = False) -> Tensor:
        x = x + self.attention(self.norm1(x), causal)
        return x + self.linear2(f.gelu(self.linear1(self.norm2(x))))


class Encoder(nn.Module):
    def __init__(self, tokens: int, width: int, heads: int, layers: int, classes: int):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, 4 * width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.fc = nn.Linear(width, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.fc(self.norm(x).mean(1))


class UNet(nn.Module):
    def __init__(self, width: int, classes: int):
        super().__init__()
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.leave = nn.Conv2d(2 * width, classes, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.sigmoid(self.enter(x))
        y = torch.tanh(self.down(f.avg_pool2d(x, 2)))
        return self.leave(torch.cat([x, self.up(y)], 1))


class Tagger(nn.Module):
    def __init__(
        self, kind: str, tokens: int, width: int, layers: int, classes: int, both: bool = False
    ):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        layer = getattr(nn, kind)
        self.rnn = layer(width, width, layers, batch_first=True, bidirectional=both)
        self.fc = nn.Linear(width * (1 + both), classes)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.rnn(self.embedding(tokens))
        return self.fc(states.mean(1))


class Mobile(nn.Module):
    def __init__(self, width: int, classes: int):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, 2, 1)
        self.expand = nn.Conv2d(width, 2 * width, 1)
        self.depthwise = nn.Conv2d(2 * width, 2 * width, 3, 1, 1, groups=2 * width)
        self.norm = nn.BatchNorm2d(2 * width)
        self.squeeze, self.gate = nn.Linear(2 * width, width), nn.Linear(width, 2 * width)
        self.project = nn.Conv2d(2 * width, width, 1)
        self.fc = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = f.hardswish(self.enter(x))
        y = f.hardswish(self.norm(self.depthwise(self.expand(x))))
        gate = torch.sigmoid(self.gate(f.relu(self.squeeze(y.mean((2, 3))))))
        return self.fc((x + self.project(y * gate[:, :, None, None])).mean((2, 3)))


class Dense(nn.Module):
    def __init__(self, width: int, layers: int, classes: int):
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm2d(1 + i * width) for i in range(layers))
        self.convs = nn.ModuleList(nn.Conv2d(1 + i * width, width, 3, 1, 1) for i in range(layers))
        self.fc = nn.Linear(1 + layers * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        for norm, conv in zip(self.norms, self.convs, strict=True):
            x = torch.cat([x, conv(f.relu(norm(x)))], 1)
        means = f.avg_pool2d(x, 3, 2, 1, count_include_pad=False)
        return self.fc(f.max_pool2d(means, 2).mean((2, 3)))


class Decoder(nn.Module):
    def __init__(self, tokens: int, positions: int, width: int, heads: int, layers: int):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.positions = nn.Parameter(torch.randn(positions, width))
        self.layers = nn.ModuleList(EncoderLayer(width, heads, 2 * width) for _ in range(layers))
        self.fc = nn.Linear(width, tokens)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) + self.positions
        for layer in self.layers:
            x = layer(x, causal=True)
        return self.fc(x).transpose(1, 2)


def seeded(threads: int) -> Any:
    """Returns the module of PyTorch, which runs that many threads and begins with one seed."""
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    return torch


def copy_parameters(network: glow.nn.Module, other: nn.Module) -> None:
    """Gives a network the parameters that one of PyTorch has."""
    state = other.state_dict()
    for name, parameter in network.parameters().items():
        parameter.array = state[name].numpy().copy()


def step(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    x: Tensor,
    y: Tensor,
    precision: str = "f32",
) -> float:
    """
    Does a step of PyTorch; returns the loss before it. With the precision `bf16`, autocast chooses
    what is computed in bf16.
    """
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        loss = f.cross_entropy(network(x).float(), y)
    loss.backward()
    optimizer.step()
    return loss.item()
