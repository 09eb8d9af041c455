"""Networks over images and sound, from transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import transformers  # pyright: ignore[reportMissingImports]

from .architecture import BATCHES, LENGTHS, Architecture, Input, Scale, Sizes
from .modules import CrossDecoderStep, Selected


def _image(
    kind: str,
    small: Mapping[str, Any],
    full: Mapping[str, Any] | None = None,
    *,
    head: str = "ForImageClassification",
    outputs: Sequence[str] = ("logits",),
    size: int = 64,
    name: str = "pixel_values",
    full_size: int = 224,
) -> Architecture:
    """Returns an architecture over square images, given the configurations of two sizes."""

    def scale(options: Mapping[str, Any], edge: int, sizes: Sequence[Sizes]) -> Scale:
        def build() -> Any:
            config = getattr(transformers, f"{kind}Config")(**options)
            return Selected(getattr(transformers, f"{kind}{head}")(config), [name], outputs)

        return Scale(build, [Input(name, ("batch", 3, edge, edge))], sizes)

    found = None if full is None else scale(full, full_size, [{"batch": 1}])
    return Architecture(scale(small, size, BATCHES), found)


def _one(
    build: Callable[[], Any],
    inputs: Sequence[Input],
    sizes: Sequence[Sizes],
    outputs: Sequence[str],
) -> Scale:
    return Scale(lambda: Selected(build(), [i.name for i in inputs], outputs), inputs, sizes)


_VIT = {
    **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"intermediate_size": 64, "image_size": 64, "patch_size": 16},
}
_VIT_TINY = {
    **{"hidden_size": 192, "num_hidden_layers": 12, "num_attention_heads": 3},
    "intermediate_size": 768,
}
_DETR = {
    **{"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None},
    **{"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 64},
    **{"decoder_ffn_dim": 64, "encoder_attention_heads": 4, "decoder_attention_heads": 4},
    "num_queries": 10,
}


def _resnet_backbone() -> Any:
    return transformers.ResNetConfig(
        embedding_size=16,
        hidden_sizes=[16, 32, 48, 64],
        depths=[1, 1, 1, 1],
        out_features=["stage4"],
    )


def _detr() -> Architecture:
    def build() -> Any:
        config = transformers.DetrConfig(**{**_DETR, "backbone_config": _resnet_backbone()})
        return transformers.DetrForObjectDetection(config)

    inputs = [
        Input("pixel_values", ("batch", 3, 64, 96)),
        Input("pixel_mask", ("batch", 64, 96), "mask"),
    ]
    return Architecture(_one(build, inputs, BATCHES, ["logits", "pred_boxes"]))


_WHISPER = {
    **{"vocab_size": 211, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2},
    **{"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64},
    **{"decoder_ffn_dim": 64, "num_mel_bins": 8, "max_source_positions": 20},
    **{"max_target_positions": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
    **{"decoder_start_token_id": 1, "suppress_tokens": None, "begin_suppress_tokens": None},
}
_WHISPER_FULL = {
    **{"d_model": 384, "encoder_layers": 4, "decoder_layers": 4, "encoder_attention_heads": 6},
    **{"decoder_attention_heads": 6, "encoder_ffn_dim": 1536, "decoder_ffn_dim": 1536},
}


def _whisper_encoder() -> Architecture:
    def scale(options: Mapping[str, Any], bins: int, frames: int, sizes: Sequence[Sizes]) -> Scale:
        def build() -> Any:
            return transformers.WhisperModel(transformers.WhisperConfig(**options)).get_encoder()

        inputs = [Input("input_features", ("batch", bins, frames))]
        return _one(build, inputs, sizes, ["last_hidden_state"])

    full = scale(_WHISPER_FULL, 80, 3000, [{"batch": 1}])
    return Architecture(scale(_WHISPER, 8, 40, BATCHES), full)


def _whisper_step() -> Architecture:
    def scale(options: Mapping[str, Any], sizes: Sequence[Sizes]) -> Scale:
        config = transformers.WhisperConfig(**options)
        heads = config.decoder_attention_heads
        shape = ("batch", heads, "past", config.d_model // heads)
        names = [f"past_{i}_{part}" for i in range(config.decoder_layers) for part in "kv"]
        states = ("batch", config.max_source_positions, config.d_model)
        inputs = [
            Input("input_ids", ("batch", 1), "ids", config.vocab_size),
            Input("states", states),
            *(Input(name, shape) for name in names),
        ]
        return Scale(
            lambda: CrossDecoderStep(
                transformers.WhisperForConditionalGeneration(config), "frames"
            ),
            inputs,
            sizes,
        )

    several = [{"batch": b, "past": p} for b, p in ((2, 4), (1, 9), (1, 10), (3, 1), (1, 21))]
    full = {**_WHISPER_FULL, "vocab_size": 8000, "pad_token_id": 0}
    return Architecture(scale(_WHISPER, several), scale(full, [{"batch": 1, "past": 32}]))


def _sound(kind: str, head: str, options: Mapping[str, Any]) -> Architecture:
    """Returns a network over samples."""

    def build() -> Any:
        return getattr(transformers, f"{kind}{head}")(
            getattr(transformers, f"{kind}Config")(**options)
        )

    sizes = [
        {"batch": b, "samples": s}
        for b, s in ((2, 1600), (1, 2001), (1, 1000), (3, 777), (1, 2400))
    ]
    return Architecture(
        _one(build, [Input("input_values", ("batch", "samples"))], sizes, ["logits"])
    )


_WAV2VEC2 = {
    **{"vocab_size": 31, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"intermediate_size": 64, "conv_dim": [16, 16, 16], "conv_stride": [5, 2, 2]},
    **{"conv_kernel": [10, 3, 2], "num_conv_pos_embeddings": 16},
    "num_conv_pos_embedding_groups": 4,
}
_CLIP_TEXT = {
    **{"vocab_size": 211, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"intermediate_size": 64, "max_position_embeddings": 20, "projection_dim": 16},
    **{"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0},
}


def _clip_text() -> Architecture:
    def build() -> Any:
        return transformers.CLIPTextModelWithProjection(transformers.CLIPTextConfig(**_CLIP_TEXT))

    shape = ("batch", "sequence")
    inputs = [Input("input_ids", shape, "ids", 211), Input("attention_mask", shape, "mask")]
    return Architecture(_one(build, inputs, LENGTHS, ["text_embeds"]))


def _perceiver() -> Architecture:
    options = {
        **{"num_latents": 8, "d_latents": 32, "d_model": 24, "num_blocks": 1, "vocab_size": 211},
        **{"num_self_attends_per_block": 2, "num_self_attention_heads": 4},
        **{"num_cross_attention_heads": 4, "max_position_embeddings": 16, "qk_channels": 32},
        "v_channels": 32,
    }
    shape = ("batch", 16)

    def build() -> Any:
        return transformers.PerceiverForMaskedLM(transformers.PerceiverConfig(**options))

    inputs = [Input("inputs", shape, "ids", 211), Input("attention_mask", shape, "mask")]
    return Architecture(_one(build, inputs, BATCHES, ["logits"]))


_SWIN = {"image_size": 64, "patch_size": 4, "window_size": 4, "drop_path_rate": 0.0}
_LEVIT = {
    **{"image_size": 64, "hidden_sizes": [32, 48, 64], "num_attention_heads": [2, 3, 4]},
    **{"depths": [1, 1, 1], "key_dim": [8, 8, 8]},
}
_STAGES = {"hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 1, 1]}
_SEGFORMER = {
    **{
        "hidden_sizes": [16, 24, 32, 40],
        "depths": [1, 1, 1, 1],
        "num_attention_heads": [1, 2, 4, 5],
    },
    "decoder_hidden_size": 32,
}
_MOBILEVIT = {
    **{
        "image_size": 64,
        "hidden_sizes": [24, 32, 40],
        "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32],
    },
    "num_attention_heads": 4,
}
_DPT = {**_VIT, "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3], "is_hybrid": False}
_DPT_NECK = {"neck_hidden_sizes": [8, 16, 24, 32], "fusion_hidden_size": 16}
_SEGMENT = "ForSemanticSegmentation"

VISION: Mapping[str, Architecture] = {
    "vit": _image("ViT", _VIT, _VIT_TINY),
    "deit": _image("DeiT", _VIT),
    "beit": _image("Beit", {**_VIT, "use_relative_position_bias": True}),
    "data2vec-vision": _image("Data2VecVision", {**_VIT, "use_relative_position_bias": True}),
    "dinov2": _image("Dinov2", {**_VIT, "mlp_ratio": 2}),
    "swin": _image("Swin", {**_SWIN, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4]}, {}),
    "swinv2": _image("Swinv2", {**_SWIN, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4]}),
    "convnext": _image("ConvNext", _STAGES, {}),
    "convnextv2": _image("ConvNextV2", _STAGES),
    "segformer": _image("Segformer", _SEGFORMER, {"num_labels": 21}, head=_SEGMENT, full_size=256),
    "mobilevit": _image("MobileViT", _MOBILEVIT, {}, full_size=256),
    "mobilevit-segment": _image("MobileViT", _MOBILEVIT, head=_SEGMENT),
    "mobilevitv2": _image("MobileViTV2", {"image_size": 64, "base_attn_unit_dims": [16, 16, 16]}),
    "resnet": _image(
        "ResNet", {"embedding_size": 16, "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1]}
    ),
    "regnet": _image(
        "RegNet",
        {**_STAGES, "embedding_size": 16, "hidden_sizes": [16, 32, 48, 64], "groups_width": 8},
        {},
    ),
    "poolformer": _image("PoolFormer", _STAGES, {}),
    "levit": _image("Levit", _LEVIT, {}),
    "efficientnet": _image(
        "EfficientNet",
        {"image_size": 64, "width_coefficient": 0.25, "depth_coefficient": 0.3, "hidden_dim": 320},
    ),
    "mobilenet-v1": _image("MobileNetV1", {"depth_multiplier": 0.25}, {}),
    "mobilenet-v2": _image("MobileNetV2", {"depth_multiplier": 0.25}),
    "mobilenet-v2-segment": _image("MobileNetV2", {"depth_multiplier": 0.25}, head=_SEGMENT),
    "bit": _image("Bit", {"embedding_size": 32, "hidden_sizes": [128, 256], "depths": [1, 1]}),
    "focalnet": _image("FocalNet", {**_SWIN, "embed_dim": 16, "depths": [1, 1]}),
    "pvt": _image(
        "Pvt",
        {
            **{"image_size": 64, "hidden_sizes": [16, 24, 32, 40], "depths": [1, 1, 1, 1]},
            "num_attention_heads": [1, 2, 4, 5],
        },
    ),
    "yolos": _image(
        "Yolos",
        {**_VIT, "image_size": [64, 64], "num_detection_tokens": 5},
        head="ForObjectDetection",
        outputs=("logits", "pred_boxes"),
    ),
    "dpt": _image(
        "DPT", {**_DPT, **_DPT_NECK}, head="ForDepthEstimation", outputs=("predicted_depth",)
    ),
    "beit-segment": _image(
        "Beit", {**_VIT, "num_hidden_layers": 4, "out_indices": [1, 2, 3, 4]}, head=_SEGMENT
    ),
    "detr": _detr(),
    "clip-vision": _image(
        "CLIPVision", _VIT, {}, head="ModelWithProjection", outputs=("image_embeds",)
    ),
    "clip-text": _clip_text(),
    "whisper-encoder": _whisper_encoder(),
    "whisper-step": _whisper_step(),
    "wav2vec2": _sound("Wav2Vec2", "ForCTC", _WAV2VEC2),
    "hubert": _sound("Hubert", "ForCTC", _WAV2VEC2),
    "perceiver": _perceiver(),
}
"""Architectures by name."""
