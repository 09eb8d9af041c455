"""
Text generation with decoders: tokens are chosen one after the other.

```python
model = glow.compile("decoder.onnx", states={"past_*": "present_*"})
(tokens,) = glow.generation.generate(model, [prompt], most=100, sampling=Sampling(top_p=0.9))
```
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from .errors import GlowError, InputError
from .models.cached_model import CachedModel, CacheSession

PIECES = (32, 1)
"""The numbers of prompt tokens of one call. There is a program for each."""


@dataclass(frozen=True)
class Sampling:
    """
    The choice of a token by its logit. Without arguments, it is the most likely one.

    Tokens are drawn with the probabilities `softmax(logits / temperature)`, of the `top_k` most
    likely ones only (0 for all), and of the fewest whose probabilities have the sum `top_p`
    (Holtzman et al. 2020). A `temperature` of 0 takes the most likely token.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        numbers = isinstance(self.top_k, Integral) and all(
            isinstance(value, Real) for value in (self.temperature, self.top_p)
        )
        if not (numbers and self.temperature >= 0 and self.top_k >= 0 and 0 < self.top_p <= 1):
            raise GlowError(
                "expected a temperature and a top_k of at least 0, and a top_p above 0 and at "
                f"most 1, found {self}"
            )

    def probabilities(self, logits: np.ndarray) -> np.ndarray:
        """
        Returns the probabilities f64[vocabulary] with which tokens are drawn. Raises GlowError
        unless the largest logit is finite.
        """
        if not np.isfinite(largest := logits.max()):
            raise GlowError(
                f"expected logits whose largest is finite, found {largest}: the network overflows, "
                "or its weights or inputs are not finite"
            )
        if self.temperature == 0:
            return np.eye(1, logits.size, int(logits.argmax()))[0]
        with np.errstate(over="ignore"):  # what is not the most likely one at tiny temperatures
            scaled = (logits - largest).astype(np.float64) / self.temperature
        order = np.argsort(-scaled, kind="stable")
        if self.top_k:
            scaled[order[self.top_k :]] = -np.inf
        found = np.exp(scaled)
        found /= found.sum()
        before = np.cumsum(found[order]) - found[order]
        found[order[before >= self.top_p]] = 0
        return found / found.sum()

    def choose(self, logits: np.ndarray, rng: np.random.Generator) -> int:
        """Returns a token for f32[vocabulary]. It draws one number from `rng`."""
        bounds = np.cumsum(self.probabilities(logits))
        place = int(np.searchsorted(bounds, rng.random() * bounds[-1], side="right"))
        return min(place, logits.size - 1)


def generate(
    model: CachedModel,
    prompts: Sequence[Sequence[int]],
    most: int,
    sampling: Sampling | None = None,
    seed: int = 0,
    stop: Collection[int] = (),
    pieces: Sequence[int] = PIECES,
) -> list[list[int]]:
    """
    Returns the tokens that follow each prompt: at most `most`, up to the first one in `stop`, which
    is not part of them.

    Prompts of one length run as one batch. The tokens of a prompt depend on the `seed` and its
    number, not on the other prompts. `pieces` are the numbers of prompt tokens of one call, of
    which one is 1. Raises InputError for a prompt that is empty or no list of integers of at least
    0, GlowError for wrong options and for a model without caches that grow in place, and what a
    call raises.
    """
    _expect_options(model, sampling, seed, pieces)
    _expect_integer("most", most, 0)
    given = _all_tokens(prompts)
    ending = _tokens_of_stop(stop)
    found: list[list[int]] = [[] for _ in given]
    for length in sorted({ids.size for ids in given}):
        chosen = [i for i, ids in enumerate(given) if ids.size == length]
        steps = _stream(model, [given[i] for i in chosen], sampling, seed, pieces, chosen)
        open_ones = set(chosen)
        for _, tokens in zip(range(most), steps, strict=False):
            for i, token in zip(chosen, tokens, strict=True):
                if token in ending:
                    open_ones.discard(i)
                elif i in open_ones:
                    found[i].append(token)
            if not open_ones:
                break
    return found


def stream(
    model: CachedModel,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling | None = None,
    seed: int = 0,
    pieces: Sequence[int] = PIECES,
    numbers: Iterable[int] | None = None,
) -> Iterator[list[int]]:
    """
    Yields the next token of each prompt, without end. Prompts have one length. `numbers` are those
    from which random numbers follow, with `seed`; by default, 0 for the first prompt, and so on.
    Raises InputError for prompts of several lengths, and for what `generate` refuses.
    """
    _expect_options(model, sampling, seed, pieces)
    given = _all_tokens(prompts)
    if len(lengths := {ids.size for ids in given}) != 1:
        raise InputError(f"expected prompts of one length, found the lengths {sorted(lengths)}")
    if numbers is not None and not isinstance(numbers, Iterable):
        raise GlowError(f"expected numbers to be a list of integers, found {numbers!r}")
    chosen = list(range(len(given)) if numbers is None else numbers)
    if len(chosen) != len(given):
        raise GlowError(f"expected numbers for {len(given)} prompts, found {chosen}")
    for number in chosen:
        _expect_integer("each of numbers", number, 0)
    return _stream(model, given, sampling, seed, pieces, chosen)


def _expect_options(
    model: CachedModel, sampling: Sampling | None, seed: int, pieces: Sequence[int]
) -> None:
    """Raises GlowError for wrong options of `generate` and `stream`."""
    if not isinstance(model, CachedModel):
        raise GlowError(
            f"expected a decoder whose caches grow in place, found a {type(model).__name__}: give "
            'glow.compile the states of the decoder, such as states={"past_*": "present_*"}'
        )
    if sampling is not None and not isinstance(sampling, Sampling):
        raise GlowError(f"expected sampling to be a glow.generation.Sampling, found {sampling!r}")
    _expect_integer("seed", seed, 0)
    if isinstance(pieces, str) or not isinstance(pieces, Iterable):
        raise GlowError(f"expected pieces to be a list of numbers of tokens, found {pieces!r}")
    for size in pieces:
        _expect_integer("each of pieces", size, 1)
    if 1 not in pieces:
        raise GlowError(f"expected pieces of which one is 1, found {list(pieces)}")


def _expect_integer(name: str, value: object, low: int) -> None:
    if not isinstance(value, Integral) or value < low:
        raise GlowError(f"expected {name} to be an integer of at least {low}, found {value!r}")


def _tokens_of_stop(stop: Collection[int]) -> set[int]:
    """Returns tokens that end a text. Raises GlowError for what is no collection of tokens."""
    if isinstance(stop, str) or not isinstance(stop, Collection):
        raise GlowError(f"expected stop to be a collection of tokens, found {stop!r}")
    for token in stop:
        _expect_integer("each of stop", token, 0)
    return {int(token) for token in stop}


def _all_tokens(prompts: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Returns prompts as `_tokens` does. Raises InputError."""
    if not isinstance(prompts, Iterable):
        raise InputError(f"expected a list of prompts, found {prompts!r}")
    return [_tokens(prompt) for prompt in prompts]


def _tokens(prompt: Sequence[int]) -> np.ndarray:
    """
    Returns a prompt as integers of any type, [tokens]. Raises InputError unless it is a list of
    integers of at least 0.
    """
    try:
        ids = np.asarray(prompt)
    except ValueError:  # lists of several lengths
        ids = np.empty((0, 0))
    if ids.shape == (0,):
        raise InputError("expected prompts of at least one token, found an empty one")
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise InputError(f"expected each prompt to be a list of integers, found {prompt!r}")
    if ids.min() < 0:  # an index that counts from the end of the vocabulary
        raise InputError(f"expected tokens of at least 0, found {ids.min()}")
    return ids


def _stream(
    model: CachedModel,
    prompts: Sequence[np.ndarray],
    sampling: Sampling | None,
    seed: int,
    pieces: Sequence[int],
    numbers: Sequence[int],
) -> Iterator[list[int]]:
    choice = sampling or Sampling()
    streams = [np.random.default_rng([seed, n]) for n in numbers]
    ids = np.stack(prompts)
    session = model.session(rows=ids.shape[1])
    logits = _prompt(model, session, ids, pieces)
    while True:
        tokens = [choice.choose(row, rng) for row, rng in zip(logits, streams, strict=True)]
        yield tokens
        logits = _step(model, session, np.array(tokens, np.int64)[:, None])


def _prompt(
    model: CachedModel, session: CacheSession, ids: np.ndarray, pieces: Sequence[int]
) -> np.ndarray:
    """Runs all tokens of prompts in pieces and returns the logits behind the last one."""
    logits, start = np.empty(0), 0
    while start < ids.shape[1]:
        size = max(n for n in pieces if n <= ids.shape[1] - start)
        logits = _step(model, session, ids[:, start : start + size])
        start += size
    return logits


def _step(model: CachedModel, session: CacheSession, ids: np.ndarray) -> np.ndarray:
    """Runs new tokens and returns the logits behind the last one, [batch, vocabulary]."""
    batch, new = ids.shape
    feed: dict[str, np.ndarray] = {}
    tokens = ""
    for info in model.call_signature.inputs:
        last = info.shape[-1] if 0 < len(info.shape) <= 2 else None
        if last == model.total_symbol and len(info.shape) == 2:
            feed[info.name] = np.ones((batch, session.length + new), info.dtype)
        elif last == model.new_symbol and "position" in info.name:
            places = np.arange(session.length, session.length + new)
            shape = ids.shape[-len(info.shape) :]
            feed[info.name] = np.broadcast_to(places, shape).astype(info.dtype)
        elif last == model.new_symbol and len(info.shape) == 2 and not tokens:
            tokens = info.name
            feed[tokens] = _converted(ids, tokens, info.dtype)
        else:
            raise GlowError(
                f"input {info.name!r} ({info.shape_text}) is neither tokens, nor their positions "
                "or mask: run a session with it, and choose tokens with glow.generation.Sampling"
            )
    return session.run(None, feed)[0][:, -1]


def _converted(ids: np.ndarray, name: str, dtype: np.dtype) -> np.ndarray:
    """Returns tokens in the type of an input. Raises InputError for what does not fit into it."""
    if dtype.kind in "iu" and int(ids.max()) > np.iinfo(dtype).max:
        raise InputError(
            f"input {name!r} is {dtype}, which cannot hold all tokens: the largest is {ids.max()}"
        )
    return ids.astype(dtype)
