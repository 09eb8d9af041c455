"""
Continues a text with the trained decoder of characters.

    python examples/decoder/generate.py "The statement" --temperature 0.7 --seed 3
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import glow
from glow.generation import Sampling, stream
from glow.models.cached_model import CachedModel
from network import MODEL, POSITIONS, text_of, tokens_of


def main() -> int:
    parser = argparse.ArgumentParser(description="Continue a text.")
    parser.add_argument("prompt", nargs="?", default="The statement ")
    parser.add_argument("--most", type=int, default=200, help="the number of new characters")
    parser.add_argument("--temperature", type=float, default=0.6, help="0 for the most likely ones")
    parser.add_argument("--top-k", type=int, default=0)
    parser.add_argument("--top-p", type=float, default=0.95)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weights", choices=("u8", "u4"), help="store weights in 8 or 4 bits")
    parser.add_argument("--model", type=Path, default=MODEL)
    args = parser.parse_args()
    prompt = tokens_of(args.prompt)
    if not 0 < len(prompt) < POSITIONS:
        parser.error(f"expected a prompt of 1 to {POSITIONS - 1} characters")

    options = {"weights": args.weights, "group": 64} if args.weights else {}
    model = glow.compile(args.model, states={"past_*": "present_*"}, buckets=[POSITIONS], **options)
    assert isinstance(model, CachedModel)
    sampling = Sampling(args.temperature, args.top_k, args.top_p)
    print(text_of(prompt), end="", flush=True)
    most = min(args.most, POSITIONS - len(prompt))
    starts: list[float] = []
    for _, (token,) in zip(range(most), stream(model, [prompt], sampling, args.seed), strict=False):
        starts.append(time.perf_counter())
        print(text_of([token]), end="", flush=True)
    if len(starts) > 2:
        rate = (len(starts) - 2) / (starts[-1] - starts[1])
        print(f"\n\n{rate:,.0f} characters per second")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
