"""Networks over text, from transformers: encoders, decoders, and decoders with a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import transformers  # pyright: ignore[reportMissingImports]

from .architecture import LENGTHS, Architecture, Input, Scale, Sizes
from .llama_100m import LLAMA_100M
from .modules import CrossDecoderStep, DecoderStep, Selected

VOCABULARY = 211
_FULL: Sequence[Sizes] = ({"batch": 1, "sequence": 128},)
_STEPS: Sequence[Sizes] = [
    {"batch": batch, "sequence": new, "past": past, "total": new + past}
    for batch, new, past in ((2, 3, 4), (1, 1, 9), (1, 1, 10), (3, 2, 1), (1, 5, 20))
]
_STEP: Sequence[Sizes] = ({"batch": 1, "sequence": 1, "past": 64, "total": 65},)
_WIDTHS = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


def _tokens(below: int) -> list[Input]:
    shape = ("batch", "sequence")
    return [Input("input_ids", shape, "ids", below), Input("attention_mask", shape, "mask")]


def _encoder(
    kind: str, small: Mapping[str, Any], full: Mapping[str, Any] | None = None, head: str = "Model"
) -> Architecture:
    """Returns an architecture with ids and a mask, given the configurations of two sizes."""

    def scale(options: Mapping[str, Any], sizes: Sequence[Sizes]) -> Scale:
        config = getattr(transformers, f"{kind}Config")(**options)
        inputs = _tokens(config.vocab_size)
        output = "last_hidden_state" if head == "Model" else "logits"

        def build() -> Any:
            model = getattr(transformers, f"{kind}{head}")(config)
            fixed = {"use_cache": False} if getattr(config, "use_cache", False) else {}
            return Selected(model, [i.name for i in inputs], [output], **fixed)

        return Scale(build, inputs, sizes)

    return Architecture(scale(small, LENGTHS), None if full is None else scale(full, _FULL))


def _with_cache(
    kind: str, small: Mapping[str, Any], full: Mapping[str, Any], steps: Sequence[Sizes] = _STEP
) -> Architecture:
    """
    Returns a step of a decoder over the keys and values of earlier tokens. `steps` are the sizes of
    the full one, the first of them that of the example that it is exported with.
    """

    def scale(options: Mapping[str, Any], sizes: Sequence[Sizes]) -> Scale:
        config = getattr(transformers, f"{kind}Config")(**options)
        heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
        width = config.hidden_size // config.num_attention_heads
        shape = ("batch", heads, "past", width)
        names = [f"past_{i}_{part}" for i in range(config.num_hidden_layers) for part in "kv"]
        inputs = [
            Input("input_ids", ("batch", "sequence"), "ids", config.vocab_size),
            Input("attention_mask", ("batch", "total"), "mask"),
            *(Input(name, shape) for name in names),
        ]
        head = "LMHeadModel" if kind == "GPT2" else "ForCausalLM"
        return Scale(
            lambda: DecoderStep(getattr(transformers, f"{kind}{head}")(config)), inputs, sizes
        )

    return Architecture(scale(small, _STEPS), scale(full, steps))


def _sequence_to_sequence(kind: str, options: Mapping[str, Any], head: str) -> Architecture:
    """Returns an encoder and decoder over two sequences."""
    config = getattr(transformers, f"{kind}Config")(**options)
    inputs = [
        *_tokens(config.vocab_size),
        Input("decoder_input_ids", ("batch", "target"), "ids", config.vocab_size),
    ]
    sizes = [{**s, "target": t} for s, t in zip(LENGTHS, (3, 6, 4, 8, 2), strict=True)]

    def build() -> Any:
        model = getattr(transformers, f"{kind}{head}")(config)
        return Selected(model, [i.name for i in inputs], ["logits"], use_cache=False)

    return Architecture(Scale(build, inputs, sizes))


def _t5_step() -> Architecture:
    config = transformers.T5Config(**_T5)
    shape = ("batch", config.num_heads, "past", config.d_kv)
    names = [f"past_{i}_{part}" for i in range(config.num_layers) for part in "kv"]
    inputs = [
        Input("input_ids", ("batch", 1), "ids", config.vocab_size),
        Input("states", ("batch", "sequence", config.d_model)),
        *(Input(name, shape) for name in names),
    ]
    sizes = [{**s, "past": p} for s, p in zip(LENGTHS, (3, 6, 4, 8, 2), strict=True)]
    return Architecture(
        Scale(
            lambda: CrossDecoderStep(transformers.T5ForConditionalGeneration(config), "sequence"),
            inputs,
            sizes,
        )
    )


_GPT2 = {
    "vocab_size": VOCABULARY,
    "n_positions": 64,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
}
_GPT2_FULL = {"n_embd": 384, "n_layer": 6, "n_head": 6, "vocab_size": 8000}
_GPT2_124M: dict[str, Any] = {}
"""No options: by default, it is GPT-2 with 124 million parameters (Radford et al. 2019)."""
_LLAMA = {**_WIDTHS, "num_key_value_heads": 2}
_LLAMA_FULL = {
    "vocab_size": 8000,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 1024,
}
_MINI = {
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "vocab_size": 8000,
}
_DISTIL = {
    "vocab_size": VOCABULARY,
    "dim": 32,
    "n_layers": 2,
    "n_heads": 4,
    "hidden_dim": 64,
    "max_position_embeddings": 64,
}
_T5 = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 2,
    "num_heads": 4,
}
_BART = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
}
_DEBERTA = {
    **_WIDTHS,
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 8,
    "share_att_key": True,
}

TEXT: Mapping[str, Architecture] = {
    "bert": _encoder("Bert", _WIDTHS, _MINI),
    "distilbert": _encoder("DistilBert", _DISTIL),
    "roberta": _encoder("Roberta", _WIDTHS, _MINI),
    "albert": _encoder("Albert", {**_WIDTHS, "embedding_size": 16}),
    "electra": _encoder("Electra", {**_WIDTHS, "embedding_size": 16}),
    "mpnet": _encoder("MPNet", _WIDTHS),
    "deberta": _encoder("DebertaV2", _DEBERTA, {**_MINI, **dict(list(_DEBERTA.items())[6:])}),
    "squeezebert": _encoder("SqueezeBert", {**_WIDTHS, "embedding_size": 32}),
    "funnel": _encoder(
        "Funnel",
        {
            **{"vocab_size": VOCABULARY, "d_model": 32, "d_head": 8, "n_head": 4, "d_inner": 64},
            **{"block_sizes": [1, 1], "num_decoder_layers": 1, "max_position_embeddings": 64},
        },
    ),
    "longformer": _encoder("Longformer", {**_WIDTHS, "attention_window": 4}),
    "mobilebert": _encoder(
        "MobileBert",
        {**_WIDTHS, "embedding_size": 16, "true_hidden_size": 32, "intra_bottleneck_size": 32},
    ),
    "fnet": Architecture(
        Scale(
            lambda: Selected(
                transformers.FNetModel(
                    transformers.FNetConfig(
                        **{k: v for k, v in _WIDTHS.items() if k != "num_attention_heads"}
                    )
                ),
                ["input_ids"],
                ["last_hidden_state"],
            ),
            _tokens(VOCABULARY)[:1],
            LENGTHS,
        )
    ),
    "modernbert": _encoder(
        "ModernBert", {**_WIDTHS, "pad_token_id": 0, "local_attention": 4, "cls_token_id": 1}
    ),
    "gpt2": _encoder("GPT2", _GPT2, _GPT2_FULL, "LMHeadModel"),
    "gpt2-cache": _with_cache("GPT2", _GPT2, _GPT2_FULL),
    "gpt2-124m-cache": _with_cache("GPT2", _GPT2, _GPT2_124M, _STEPS),
    "gpt-neox": _encoder("GPTNeoX", _WIDTHS, None, "ForCausalLM"),
    "gptj": _encoder("GPTJ", {**_GPT2, "rotary_dim": 4}, None, "ForCausalLM"),
    "opt": _encoder(
        "OPT",
        {
            **{k: v for k, v in _WIDTHS.items() if k != "intermediate_size"},
            **{"ffn_dim": 64, "word_embed_proj_dim": 32},
        },
        None,
        "ForCausalLM",
    ),
    "bloom": _encoder(
        "Bloom",
        {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4},
        None,
        "ForCausalLM",
    ),
    "llama": _encoder("Llama", _LLAMA, _LLAMA_FULL, "ForCausalLM"),
    "llama-cache": _with_cache("Llama", _LLAMA, _LLAMA_FULL),
    "llama-100m-cache": _with_cache("Llama", _LLAMA, LLAMA_100M, _STEPS),
    "mistral": _encoder("Mistral", {**_LLAMA, "sliding_window": 4}, None, "ForCausalLM"),
    "qwen2": _encoder("Qwen2", _LLAMA, None, "ForCausalLM"),
    "qwen3": _encoder("Qwen3", {**_LLAMA, "head_dim": 8}, None, "ForCausalLM"),
    "qwen3-cache": _with_cache("Qwen3", {**_LLAMA, "head_dim": 8}, {**_LLAMA_FULL, "head_dim": 64}),
    "gemma2": _encoder("Gemma2", {**_LLAMA, "head_dim": 8}, None, "ForCausalLM"),
    "phi": _encoder("Phi", _WIDTHS, None, "ForCausalLM"),
    "mixtral": _encoder(
        "Mixtral", {**_LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2}, None, "ForCausalLM"
    ),
    "mamba": Architecture(
        Scale(
            lambda: Selected(
                transformers.MambaForCausalLM(
                    transformers.MambaConfig(
                        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=8
                    )
                ),
                ["input_ids"],
                ["logits"],
                use_cache=False,
            ),
            _tokens(VOCABULARY)[:1],
            LENGTHS,
        )
    ),
    "t5": _sequence_to_sequence("T5", _T5, "ForConditionalGeneration"),
    "t5-cache": _t5_step(),
    "bart": _sequence_to_sequence("Bart", _BART, "ForConditionalGeneration"),
    "marian": _sequence_to_sequence(
        "Marian", {**_BART, "pad_token_id": 0, "decoder_start_token_id": 0}, "MTModel"
    ),
}
"""Architectures by name."""
