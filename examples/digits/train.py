"""
Trains the small convolutional network of the demo, and writes it with some test images.

    python examples/digits/train.py

Data: the 1,797 handwritten digits, 8x8 pixels with values 0 to 16, that scikit-learn ships (a copy
of the test set of the UCI "Optical Recognition of Handwritten Digits" data, CC BY 4.0). A fifth of
them is held out. Network: conv 3x3 (16) - ReLU - conv 3x3 (32) - ReLU - max pool 2x2 - conv 3x3
(32) - ReLU - max pool 2x2 - fully connected - softmax. Training: Adam on cross-entropy, with images
shifted by up to one pixel, all in numpy. The seed is fixed: the same numpy gives the same file.

Writes next to this script `digits.onnx`, whose input `image` is 1x1x8x8 f32 with values 0 to 1, and
`images/`, a dozen PNG files of held-out digits named `<index>_is_<digit>.png`.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from sklearn.datasets import load_digits

HERE = Path(__file__).parent
CHANNELS = (1, 16, 32, 32)
EPOCHS = 40
BATCH = 64

Parameters = list[np.ndarray]


def initial_parameters(rng: np.random.Generator) -> Parameters:
    """Returns He-scaled weights and zero biases: w0, b0, w1, b1, w2, b2, fully connected w, b."""
    parameters: Parameters = []
    for inputs, outputs in pairwise(CHANNELS):
        scale = np.sqrt(2 / (9 * inputs))
        parameters.append(rng.normal(0, scale, (outputs, inputs, 3, 3)))
        parameters.append(np.zeros(outputs))
    features = CHANNELS[-1] * 2 * 2
    parameters.append(rng.normal(0, np.sqrt(1 / features), (features, 10)))
    parameters.append(np.zeros(10))
    return [p.astype(np.float32) for p in parameters]


def conv(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Computes a 3x3 convolution with padding 1; also returns the patches that the gradient needs.
    """
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    patches = sliding_window_view(padded, (3, 3), (2, 3))
    y = np.einsum("nchwij,ocij->nohw", patches, w, optimize=True)
    return y + b[:, None, None], patches


def conv_gradient(
    dy: np.ndarray, patches: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of x, w and b."""
    dw = np.einsum("nchwij,nohw->ocij", patches, dy, optimize=True)
    flipped = w.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1]
    dx, _ = conv(dy, flipped, np.zeros(w.shape[1], w.dtype))
    return dx, dw, dy.sum((0, 2, 3))


def pool(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Computes the 2x2 maximum; also returns where the maximum was, shared equally among ties."""
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
    y = blocks.max((3, 5))
    hit = blocks == y[:, :, :, None, :, None]
    return y, hit / hit.sum((3, 5), keepdims=True, dtype=x.dtype)


def pool_gradient(dy: np.ndarray, hit: np.ndarray) -> np.ndarray:
    n, c, h, _, w, _ = hit.shape
    return (dy[:, :, :, None, :, None] * hit).reshape(n, c, 2 * h, 2 * w)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def forward(parameters: Parameters, x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns the class scores, and the values that the gradient needs."""
    w0, b0, w1, b1, w2, b2, w, b = parameters
    y, patches0 = conv(x, w0, b0)
    a0 = np.maximum(y, 0)
    y, patches1 = conv(a0, w1, b1)
    a1 = np.maximum(y, 0)
    p1, hit1 = pool(a1)
    y, patches2 = conv(p1, w2, b2)
    a2 = np.maximum(y, 0)
    p2, hit2 = pool(a2)
    flat = p2.reshape(len(x), -1)
    return flat @ w + b, [patches0, a0, patches1, a1, hit1, patches2, a2, hit2, flat]


def gradients(parameters: Parameters, x: np.ndarray, labels: np.ndarray) -> Parameters:
    """Returns the gradient of the mean cross-entropy, in the order of the parameters."""
    w0, _, w1, _, w2, _, w, _ = parameters
    scores, (patches0, a0, patches1, a1, hit1, patches2, a2, hit2, flat) = forward(parameters, x)
    d = softmax(scores)
    d[np.arange(len(x)), labels] -= 1
    d /= len(x)
    dw, db = flat.T @ d, d.sum(0)
    d = pool_gradient((d @ w.T).reshape(len(x), CHANNELS[-1], 2, 2), hit2) * (a2 > 0)
    d, dw2, db2 = conv_gradient(d, patches2, w2)
    d = pool_gradient(d, hit1) * (a1 > 0)
    d, dw1, db1 = conv_gradient(d, patches1, w1)
    _, dw0, db0 = conv_gradient(d * (a0 > 0), patches0, w0)
    return [dw0, db0, dw1, db1, dw2, db2, dw, db]


def shifted(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns the images, each moved by up to one pixel."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moved = [
        image[:, i : i + 8, j : j + 8]
        for image, (i, j) in zip(padded, rng.integers(0, 3, (len(x), 2)), strict=True)
    ]
    return np.stack(moved)


def train(x: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> Parameters:
    """Trains with Adam; the learning rate falls linearly to zero."""
    parameters = initial_parameters(rng)
    mean = [np.zeros_like(p) for p in parameters]
    square = [np.zeros_like(p) for p in parameters]
    step, steps = 0, EPOCHS * (len(x) // BATCH)
    for epoch in range(EPOCHS):
        order = rng.permutation(len(x))
        for start in range(0, len(x) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            step += 1
            rate = 2e-3 * (1 - step / (steps + 1))
            found = gradients(parameters, shifted(x[chosen], rng), labels[chosen])
            for p, g, m, s in zip(parameters, found, mean, square, strict=True):
                m += 0.1 * (g - m)
                s += 0.001 * (g * g - s)
                unbiased = m / (1 - 0.9**step)
                p -= rate * unbiased / (np.sqrt(s / (1 - 0.999**step)) + 1e-8)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: training accuracy {accuracy(parameters, x, labels):.4f}")
    return parameters


def accuracy(parameters: Parameters, x: np.ndarray, labels: np.ndarray) -> float:
    scores, _ = forward(parameters, x)
    return float((scores.argmax(1) == labels).mean())


def to_onnx(parameters: Parameters) -> onnx.ModelProto:
    """Returns the network as ONNX, opset 17."""
    names = ["conv0.w", "conv0.b", "conv1.w", "conv1.b", "conv2.w", "conv2.b", "fc.w", "fc.b"]
    window: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    same: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["image", "conv0.w", "conv0.b"], ["conv0"], **same),
        helper.make_node("Relu", ["conv0"], ["relu0"]),
        helper.make_node("Conv", ["relu0", "conv1.w", "conv1.b"], ["conv1"], **same),
        helper.make_node("Relu", ["conv1"], ["relu1"]),
        helper.make_node("MaxPool", ["relu1"], ["pool1"], **window),
        helper.make_node("Conv", ["pool1", "conv2.w", "conv2.b"], ["conv2"], **same),
        helper.make_node("Relu", ["conv2"], ["relu2"]),
        helper.make_node("MaxPool", ["relu2"], ["pool2"], **window),
        helper.make_node("Flatten", ["pool2"], ["flat"]),
        helper.make_node("Gemm", ["flat", "fc.w", "fc.b"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probabilities"], axis=1),
    ]
    for node in nodes:
        node.name = node.output[0]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(p, n) for n, p in zip(names, parameters, strict=True)],
    )
    opset = helper.make_opsetid("", 17)
    model = helper.make_model(graph, opset_imports=[opset], producer_name="glow", ir_version=8)
    onnx.checker.check_model(model)
    return model


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """
    Returns training images and labels, held-out images and labels; images are Nx1x8x8 f32, 0 to 1.
    """
    pixels, digits = load_digits(return_X_y=True)
    x = (pixels.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(x))
    held_out, rest = order[: len(x) // 5], order[len(x) // 5 :]
    return x[rest], digits[rest], x[held_out], digits[held_out]


def write_images(x: np.ndarray, labels: np.ndarray, folder: Path) -> None:
    """
    Writes a dozen held-out images, 8-bit grey: the first of each digit, and the first two left.
    """
    folder.mkdir(exist_ok=True)
    chosen = [int(np.argmax(labels == digit)) for digit in range(10)]
    left = [i for i in range(len(labels)) if i not in chosen]
    for i in [*chosen, *left[:2]]:
        pixels = np.round(x[i, 0] * 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:03}_is_{labels[i]}.png")


def main() -> None:
    x, labels, held_out, held_out_labels = load()
    parameters = train(x, labels, np.random.default_rng(1))
    found = accuracy(parameters, held_out, held_out_labels)
    print(f"held-out accuracy: {found:.4f} of {len(held_out)} images")
    if found < 0.98:
        raise SystemExit("the accuracy is below 98 %; nothing was written")
    onnx.save(to_onnx(parameters), HERE / "digits.onnx")
    write_images(held_out, held_out_labels, HERE / "images")


if __name__ == "__main__":
    main()
