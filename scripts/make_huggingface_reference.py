"""Writes logits and greedy tokens of tiny models of transformers for tests/huggingface/test_parity.py.

    PYTHONPATH=. python scripts/make_huggingface_reference.py tests/huggingface/data [NAME ...]

Made with transformers 5.24 and torch 2.13 on a CPU. No weights are kept: each tensor is drawn from its name (`tensor`).
All is computed in float64: `model.double()` would not do, since rotary tables, norms and softmaxes ask for float32, so
here float32 itself means float64. How far logits in float32 are from these, in a process of its own, is what tests
allow in float32. A file for each case; NAME: those cases alone.
"""

import copy
import json
import multiprocessing
import sys
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from posenc_jax.huggingface.families import FAMILIES, of_config

LENGTH, SHORT, NEW = 600, 24, 12
KEPT = (0, 7, 23, 63, 64, 300, 512, 599)
"""Positions whose logits are kept."""
EARLY = [p for p in KEPT if p < SHORT]
VOCABULARY = 48
_COMMON = {"vocab_size": VOCABULARY, "bos_token_id": 1, "eos_token_id": 2}
_LLAMA = _COMMON | {
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}
_BERT = {"hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4}
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_heads": 4}
_LLAMA_3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
_YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 64}
_FALCON = _COMMON | {
    "model_type": "falcon",
    "hidden_size": 32,
    "ffn_hidden_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 512,
}
CASES = {
    "llama": _LLAMA
    | {
        "model_type": "llama",
        "rope_theta": 5e5,
        "rope_scaling": {**_LLAMA_3, "original_max_position_embeddings": 64},
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True,
    },
    "llama_yarn": _LLAMA
    | {
        "model_type": "llama",
        "head_dim": 16,
        "rope_scaling": _YARN,
        "attention_bias": True,
        "mlp_bias": True,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": False,
    },
    "mistral": _LLAMA | {"model_type": "mistral", "head_dim": 16, "sliding_window": 64, "rope_theta": 1e6},
    "qwen2": _LLAMA
    | {
        "model_type": "qwen2",
        "rope_theta": 1e6,
        "rope_scaling": {"rope_type": "linear", "factor": 4.0},
        "use_sliding_window": True,
        "sliding_window": 64,
        "max_window_layers": 1,
        "tie_word_embeddings": True,
    },
    "qwen2_vl": {
        "model_type": "qwen2_vl",
        "tie_word_embeddings": True,
        "text_config": _LLAMA
        | {
            "model_type": "qwen2_vl_text",
            "use_sliding_window": True,
            "sliding_window": 64,
            "max_window_layers": 1,
            "rope_parameters": _YARN | {"rope_theta": 1e6, "mrope_section": [1, 1, 2]},
        },
        "vision_config": {"depth": 1, "embed_dim": 16, "hidden_size": 32, "num_heads": 2, "patch_size": 2},
    },
    "qwen3": _LLAMA
    | {
        "model_type": "qwen3",
        "head_dim": 16,
        "rope_theta": 1e6,
        "use_sliding_window": True,
        "sliding_window": 20,
        "max_window_layers": 0,
    },
    "phi3": _LLAMA | {"model_type": "phi3", "pad_token_id": 0, "sliding_window": 64, "partial_rotary_factor": 0.5},
    "gemma2": _LLAMA
    | {
        "model_type": "gemma2",
        "head_dim": 16,
        "query_pre_attn_scalar": 24,
        "sliding_window": 64,
        "attn_logit_softcapping": 5.0,
        "final_logit_softcapping": 40.0,
    },
    "gemma3": _LLAMA
    | {
        "model_type": "gemma3_text",
        "head_dim": 16,
        "query_pre_attn_scalar": 24,
        "sliding_window": 64,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        },
    },
    "olmo2": _LLAMA | {"model_type": "olmo2", "head_dim": 16, "rope_theta": 5e5, "rms_norm_eps": 1e-6},
    "olmo3": _LLAMA
    | {
        "model_type": "olmo3",
        "sliding_window": 64,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        "rope_theta": 5e5,
        "rope_scaling": _YARN | {"attention_factor": 1.2},
        "rms_norm_eps": 1e-6,
    },
    "gemma": _LLAMA
    | {
        "model_type": "gemma",
        "head_dim": 16,
        "rope_theta": 2e4,
        "rope_scaling": {"rope_type": "dynamic", "factor": 2.0},
    },
    "stablelm": _LLAMA | {"model_type": "stablelm", "partial_rotary_factor": 0.25, "use_qkv_bias": True},
    "stablelm_parallel": _LLAMA
    | {
        "model_type": "stablelm",
        "partial_rotary_factor": 0.5,
        "use_parallel_residual": True,
        "rope_scaling": {"rope_type": "linear", "factor": 4.0},
    },
    "starcoder2": _LLAMA | {"model_type": "starcoder2", "sliding_window": 64, "rope_theta": 1e5},
    "cohere": _LLAMA | {"model_type": "cohere", "rope_scaling": _YARN, "logit_scale": 0.5},
    "glm4": _LLAMA
    | {
        "model_type": "glm4",
        "head_dim": 16,
        "pad_token_id": 0,
        "rope_scaling": {"rope_type": "dynamic", "factor": 2.0},
    },
    "phi": _LLAMA | {"model_type": "phi", "partial_rotary_factor": 0.5, "rope_scaling": _YARN},
    "gpt_neo": _COMMON
    | {
        "model_type": "gpt_neo",
        "hidden_size": 32,
        "intermediate_size": 40,
        "num_layers": 3,
        "num_heads": 4,
        "attention_types": [[["local", "global", "local"], 1]],
        "window_size": 64,
        "max_position_embeddings": 640,
    },
    "smollm3": _LLAMA
    | {
        "model_type": "smollm3",
        "num_hidden_layers": 4,
        "no_rope_layers": [1, 0, 1, 1],
        "rope_theta": 2e6,
        "pad_token_id": 0,
        "use_sliding_window": True,
        "sliding_window": 64,
    },
    "gpt2": _COMMON | {"model_type": "gpt2", "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 640},
    "gpt_neox": _COMMON
    | {
        "model_type": "gpt_neox",
        "hidden_size": 32,
        "intermediate_size": 40,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "max_position_embeddings": 512,
        "rotary_pct": 0.25,
        "rotary_emb_base": 10000,
    },
    "gptj": _COMMON
    | {"model_type": "gptj", "n_embd": 32, "n_layer": 3, "n_head": 2, "n_positions": 640, "rotary_dim": 8},
    "opt": _COMMON
    | {
        "model_type": "opt",
        "hidden_size": 32,
        "ffn_dim": 40,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "max_position_embeddings": 640,
        "word_embed_proj_dim": 32,
    },
    "falcon_7b": _FALCON | {"rope_theta": 1e5, "rope_scaling": {"rope_type": "linear", "factor": 4.0}},
    "falcon_40b": _FALCON
    | {"num_kv_heads": 2, "new_decoder_architecture": True, "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
    "falcon_11b": _FALCON | {"num_kv_heads": 2, "new_decoder_architecture": True, "num_ln_in_parallel_attn": 1},
    "falcon_sequential": _FALCON | {"multi_query": False, "parallel_attn": False, "bias": True, "rope_scaling": _YARN},
    "bloom": _COMMON | {"model_type": "bloom", "hidden_size": 36, "n_layer": 3, "n_head": 6},
    "bert": _COMMON | _BERT | {"model_type": "bert", "max_position_embeddings": 640, "layer_norm_eps": 1e-6},
    "roberta": _COMMON
    | _BERT
    | {"model_type": "roberta", "max_position_embeddings": 642, "type_vocab_size": 1, "pad_token_id": 0},
    "modernbert": _COMMON
    | _BERT
    | {
        "model_type": "modernbert",
        "num_hidden_layers": 4,
        "max_position_embeddings": 640,
        "local_attention": 128,
        "pad_token_id": 0,
        "cls_token_id": 1,
        "sep_token_id": 2,
    },
    "deberta_v2": _COMMON
    | _BERT
    | {
        "model_type": "deberta-v2",
        "max_position_embeddings": 512,
        "relative_attention": True,
        "position_buckets": 64,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": "p2c|c2p",
        "position_biased_input": False,
        "pad_token_id": 0,
    },
    "t5": _COMMON
    | _T5
    | {
        "model_type": "t5",
        "num_decoder_layers": 3,
        "relative_attention_max_distance": 100,
        "decoder_start_token_id": 0,
        "eos_token_id": 7,
    },
    "t5_1_1": _COMMON
    | _T5
    | {
        "model_type": "t5",
        "feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": False,
        "decoder_start_token_id": 3,
        "eos_token_id": 39,
        "pad_token_id": 1,
    },
    "mt5": _COMMON | _T5 | {"model_type": "mt5"},
    "umt5": _COMMON | _T5 | {"model_type": "umt5", "feed_forward_proj": "gated-gelu", "eos_token_id": 24},
    "marian": _COMMON
    | {
        "model_type": "marian",
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 40,
        "decoder_ffn_dim": 40,
        "max_position_embeddings": 640,
        "activation_function": "swish",
        "scale_embedding": True,
        "decoder_start_token_id": 40,
        "eos_token_id": 9,
        "pad_token_id": 0,
    },
    "mpt": _COMMON | {"model_type": "mpt", "d_model": 32, "n_layers": 3, "n_heads": 4, "max_seq_len": 640},
}
_BASES = {name: FAMILIES[case["model_type"]].base for name, case in CASES.items()}
CASES |= {f"{name}_model": CASES[name] | {"architectures": [base]} for name, base in _BASES.items() if base}


def tensor(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The values of a tensor, float32, by its name: norms about 1, matrices as large as lets positions count."""
    draws = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape)
    if name.endswith("bias"):
        return (0.1 * draws).astype(np.float32)
    if len(shape) == 1:
        return (1 + 0.1 * draws).astype(np.float32)
    if name.endswith("Attention.q.weight"):  # T5's, which does not divide logits: they start smaller
        draws = draws / np.sqrt(_T5["d_kv"])
    scale = 1.0 if "embed" in name or name.split(".")[-2] in ("wte", "wpe") else 1.5 * shape[-1] ** -0.5
    return (draws * scale).astype(np.float32)


def tokens(count: int = LENGTH) -> np.ndarray:
    """``[1, count]`` of the vocabulary, without special ones."""
    return np.random.default_rng(0).integers(3, VOCABULARY, (1, LENGTH))[:, :count]


def placed() -> np.ndarray:
    """``[SHORT, 1, 3]``: time, row and column of each token of a text around an image of three rows of four."""
    before, rows, columns = 5, 3, 4
    image = before + np.array([[0, row, column] for row in range(rows) for column in range(columns)])
    after = before + columns + np.arange(SHORT - before - len(image))
    return np.concatenate([np.arange(before)[:, None].repeat(3, 1), image, after[:, None].repeat(3, 1)])[:, None]


def sources() -> np.ndarray:
    """``[3, SHORT]``: what encoder-decoders answer."""
    return tokens().reshape(-1, SHORT)[[0, 2, 4]]


def made(config: dict):
    """The model of a config with the values of `tensor`."""
    import torch
    import transformers

    kind = transformers.AutoConfig.for_model(**copy.deepcopy(config))  # it writes into what it is given
    kind._attn_implementation = "eager"
    model = getattr(transformers, of_config(config).architecture)(kind).eval()
    if config.get("tie_word_embeddings") is False and config["model_type"] in ("t5", "umt5"):
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())  # as in files of T5 1.1
    own = drawn_tensors(model)
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(torch.from_numpy(tensor(name, tuple(parameter.shape))))
    return model


def drawn_tensors(model) -> dict:
    """The tensors that are drawn, by name; Marian's tables of positions, rounded to float32, are made anew."""
    import torch

    own = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    own |= {name: buffer for name, buffer in model.named_buffers() if name == "final_logits_bias"}
    for name, parameter in model.named_parameters():
        if name not in own:
            positions, width = np.arange(len(parameter))[:, None], parameter.shape[1]
            phases = positions / 10000.0 ** (2 * np.arange(width // 2) / width)
            parameter.data.copy_(torch.from_numpy(np.concatenate([np.sin(phases), np.cos(phases)], axis=1)))
    return own


def in_float64() -> None:
    """Makes float32 mean float64, before transformers is imported."""
    import torch

    torch.set_default_dtype(torch.float64)
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double


def logits_of(model, ids: np.ndarray, answer: np.ndarray, **more: np.ndarray) -> np.ndarray:
    """``[S, classes]``, without a head last states; an encoder-decoder's after an ``answer``."""
    import torch

    more |= {"decoder_input_ids": answer} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        given = {name: torch.from_numpy(array.copy()) for name, array in more.items()}
        return model(torch.from_numpy(ids), **given)[0][0].numpy()


def in_float32(name: str) -> np.ndarray:
    """The logits of all tokens where float32 is what it says."""
    return logits_of(made(CASES[name]), tokens(), tokens()[:, ::-1])


def reference(config: dict, rounded: np.ndarray) -> dict[str, np.ndarray]:
    """Logits (without a head, last states) at the kept positions, the largest error at any position of ``rounded``
    ones, as a part of the largest of these, greedy tokens after the short prompt, and the shapes of all tensors.
    """
    model, serves = made(config), of_config(config).kind
    answers, two = tokens()[:, ::-1], serves == "encoder_decoder"
    short, long = (logits_of(model, tokens(count), answers[:, :count]) for count in (SHORT, LENGTH))
    kept = long[list(KEPT)]
    prompt = written = answers[:, :4] if two else tokens(SHORT)
    for _ in range(0 if serves == "encoder_only" else NEW):  # the end of a text, too, is a token like others here
        found = logits_of(model, tokens(SHORT) if two else written, written)
        written = np.append(written, found[None, -1:].argmax(-1), axis=1)
    assert (rounded.dtype, short.dtype, long.dtype) == (np.float32, np.float64, np.float64)
    axes = "mrope_section" in str(config)
    shapes = {name: list(parameter.shape) for name, parameter in drawn_tensors(model).items()}
    return {
        "short": short[EARLY],
        "long": kept,
        "float32": np.abs(rounded - long).max() / np.abs(kept).max(),
        "greedy": written[0, prompt.shape[1] :],
        **({"generated": generated(model)} if two else {}),
        **({"image": logits_of(model, tokens(SHORT), answers, position_ids=placed().T)[EARLY]} if axes else {}),
        "shapes": np.frombuffer(json.dumps(shapes).encode(), np.uint8),
    }


def generated(model) -> np.ndarray:
    """``[3, 1 + NEW]``: what the model answers to `sources` by the ids of its config, its start among it."""
    import torch

    model.generation_config.forced_eos_token_id = None  # Marian's class ends an answer that is cut off
    # Without a cache, which transformers 5.24 makes for as many layers as the encoder has.
    found = model.generate(torch.from_numpy(sources()), max_new_tokens=NEW, do_sample=False, use_cache=False).numpy()
    return np.pad(found, ((0, 0), (0, 1 + NEW - found.shape[1])), constant_values=model.config.pad_token_id)


def main(folder: str, *names: str) -> None:
    """Writes the files."""
    names = names or tuple(CASES)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as other:
        rounded = list(other.map(in_float32, names))
    in_float64()
    for name, values in zip(names, rounded, strict=True):
        found = reference(CASES[name], values)
        print(name, np.abs(found["long"]).max(), found["float32"], found["greedy"].tolist(), flush=True)
        np.savez_compressed(Path(folder) / f"{name}.npz", **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
