"""GGUF files of the llama architecture, under the names and in the layout of Hugging Face.

The library ``gguf`` reads them (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Besides the names, the rows
of q and k differ from Hugging Face: they stand in the interleaved layout (plane i of a head is rows 2i and 2i + 1).
Left as they are, a model halves in strength and goes on talking.
"""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from posenc_jax.data.errors import DataError
from posenc_jax.extras import needed
from posenc_jax.files.shapes import Json
from posenc_jax.huggingface.config import short
from posenc_jax.huggingface.safetensors import StoredTensor, check_names
from posenc_jax.refusals import first_line

_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_DIVISORS, _ORIGINAL = "rope_freqs.weight", "original_max_position_embeddings"
# Keys of rotation and attention: any other one may change what is computed.
_READ = (
    *("rope.dimension_count", "rope.freq_base", "rope.scale_linear", "rope.scaling.type", "rope.scaling.factor"),
    *("rope.scaling.original_context_length", "rope.scaling.finetuned", "attention.layer_norm_rms_epsilon"),
    *("attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"),
)
_AT_ONCE = 2**20  # weights


class Gguf(NamedTuple):
    """The content of a file: its keys and values, and its tensors under their own names, in NumPy's order of axes."""

    path: Path
    fields: Mapping[str, Any]
    tensors: Mapping[str, StoredTensor]


def read_gguf(path: Path) -> Gguf:
    """Everything but the values of tensors; `DataError` for what is no whole GGUF file."""
    with needed("text", "a GGUF file"):
        from gguf import GGUFReader

    class Reader(GGUFReader):
        """A reader that slices a plain array, not a memory map: 50,000 tokens take 1 s in place of 4."""

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, np.asarray(value) if name == "data" else value)

    try:
        reader = Reader(path)
        fields = {name: field.contents() for name, field in reader.fields.items()}
        if (count := fields.get("split.count", 1)) not in (0, 1):
            raise DataError(
                f"{path} is one of the {count} files of a split model: join them first, by llama-gguf-split --merge"
            )
        check_names(tensor.name for tensor in reader.tensors)
        return Gguf(path, fields, {tensor.name: _stored(tensor) for tensor in reader.tensors})
    except NotImplementedError as error:
        raise DataError(f"{path} is quantised in a way that is not read ({error}): name another file of it") from None
    except (ValueError, LookupError) as error:
        raise DataError(
            f"{path} is no whole GGUF file ({first_line(error)}): fetch it again, or name another"
        ) from None
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror}): name a file that can be read") from None


def _stored(tensor: Any) -> StoredTensor:
    from gguf.quants import dequantize

    dequantize(tensor.data.reshape(-1, tensor.data.shape[-1])[:1], tensor.tensor_type)  # refused now, if at all
    shape = tuple(tensor.shape.tolist()[::-1])
    read = functools.partial(_values, tensor.data, tensor.tensor_type, shape)
    return StoredTensor(shape, tensor.tensor_type.name, read)


def _values(data: np.ndarray, kind: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The weights of a tensor in float32, some rows after others: what is in between needs room too."""
    from gguf.quants import dequantize

    rows, out = data.reshape(-1, data.shape[-1]), np.empty(shape, np.float32)
    each = out.reshape(len(rows), -1)
    step = max(1, _AT_ONCE // each.shape[1])
    for first in range(0, len(rows), step):
        each[first : first + step] = dequantize(rows[first : first + step], kind)
    return out


def config_of(found: Gguf) -> Json:
    """The ``config.json`` that Hugging Face has for such a model; `DataError` for other architectures."""
    fields, kind = found.fields, found.fields.get("general.architecture")
    if kind != "llama":
        raise DataError(
            f"{found.path} is of the architecture {short(kind)}, and GGUF is read of 'llama' alone: name the model's "
            "directory with config.json and safetensors instead"
        )

    def of(name: str, default: Any = None) -> Any:
        value = fields.get(f"llama.{name}", default)
        if value is None:
            raise DataError(f"{found.path} lacks llama.{name}: fetch it again, or name another")
        return value

    heads, width = of("attention.head_count"), of("embedding_length")
    table = found.tensors.get("token_embd.weight")
    head_dim = of("attention.key_length", width // heads if _whole(width) and _whole(heads) else 0)
    if of("rope.dimension_count", head_dim) != head_dim:
        raise DataError(f"{found.path} rotates {of('rope.dimension_count')} of {head_dim} dimensions: not read in GGUF")
    scaling = _scaling(found, head_dim, of("context_length"))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "vocab_size": table.shape[0] if table else of("vocab_size"),
        "hidden_size": width,
        "intermediate_size": of("feed_forward_length"),
        "num_hidden_layers": of("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": of("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "max_position_embeddings": of("context_length"),
        "rms_norm_eps": _short(of("attention.layer_norm_rms_epsilon")),
        "rope_theta": of("rope.freq_base", 10000.0),
        **({"rope_scaling": scaling} if scaling else {}),
        "tie_word_embeddings": "output.weight" not in found.tensors,
        "attention_bias": "blk.0.attn_q.bias" in found.tensors,
        "mlp_bias": "blk.0.ffn_gate.bias" in found.tensors,
        **{f"{token}_token_id": fields.get(f"tokenizer.ggml.{token}_token_id") for token in ("bos", "eos")},
    }


def _scaling(found: Gguf, head_dim: Any, context: Any) -> Json | None:
    """The ``rope_scaling`` of such a model, as llama.cpp computes it: a factor without a type is linear, and a tensor
    of factors divides the frequencies at every length (Llama 3.1's are stored so).
    """

    def of(name: str, default: Any) -> Any:
        return found.fields.get(f"llama.rope.{name}", default)

    kind, factor = of("scaling.type", "linear"), of("scaling.factor", of("scale_linear", 0.0))
    own = [name.removeprefix("llama.") for name in found.fields if name.startswith(("llama.rope.", "llama.attention."))]
    odd = [f"has llama.{name}" for name in own if name not in _READ]
    odd += [] if kind in ("none", "linear", "yarn") else [f"has the scaling {kind!r} of positions"]
    scaled, divisors = kind != "none" and factor not in (0, 1), found.tensors.get(_DIVISORS)
    if divisors is not None:
        odd += [f"has {_DIVISORS} beside a factor of {factor}"] if scaled else []
        fits = _whole(head_dim) and divisors.shape == (head_dim // 2,)
        odd += [] if fits else [f"has {_DIVISORS} of shape {list(divisors.shape)}"]
    if odd:
        raise DataError(f"{found.path} {odd[0]}, which is not read in GGUF: name the model's directory instead")
    if divisors is not None:
        each = divisors.read().astype(float).tolist()
        scaling: Json = {"rope_type": "longrope", "factor": 1.0, "attention_factor": 1.0, _ORIGINAL: context}
        return scaling | {"short_factor": each, "long_factor": each}
    if not scaled:
        return None
    original = {_ORIGINAL: of("scaling.original_context_length", context)} if kind == "yarn" else {}
    return {"rope_type": kind, "factor": _short(factor), **original}


def tensors_of(found: Gguf, config: Json) -> dict[str, StoredTensor]:
    """The tensors under Hugging Face's names, rows of q and k in its layout; without what divides frequencies."""
    tensors = {}
    for name, stored in found.tensors.items():
        if name == _DIVISORS:
            continue
        theirs = _theirs(name)
        if theirs.rpartition(".")[0].endswith(("q_proj", "k_proj")):
            heads = config["num_attention_heads" if "q_proj" in theirs else "num_key_value_heads"]
            if not _whole(heads) or stored.shape[0] % (2 * heads):
                raise DataError(f"{found.path}: {name} of shape {list(stored.shape)} does not hold {heads} heads")
            stored = stored._replace(read=functools.partial(_in_halves, stored, heads))
        tensors[theirs] = stored
    return tensors


def _theirs(name: str) -> str:
    """Hugging Face's name, or the file's own for what that has not: whoever reads it says that it is left over."""
    parts = name.split(".")
    if parts[0] == "blk" and len(parts) == 4 and parts[2] in _NAMES:
        return f"model.layers.{parts[1]}.{_NAMES[parts[2]]}.{parts[3]}"
    return f"{_NAMES[parts[0]]}.{parts[1]}" if len(parts) == 2 and parts[0] in _NAMES else name


def _in_halves(stored: StoredTensor, heads: int) -> np.ndarray:
    """Rows 2i and 2i + 1 of each head as rows i and D/2 + i."""
    array = stored.read()
    planes = array.reshape(heads, -1, 2, *array.shape[1:])
    return np.swapaxes(planes, 1, 2).reshape(array.shape)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _short(value: Any) -> Any:
    """A number of float32 as people write it: 1e-5, not 9.999999747378752e-06."""
    return float(str(np.float32(value))) if isinstance(value, float) else value
