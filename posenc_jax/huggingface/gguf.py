"""GGUF files of the llama architecture, treated as hostile, under the names and in the layout of Hugging Face.

A file is a header of keys and values, the tensors' names, shapes and places, and the tensors
(https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Three things differ from Hugging Face: the names, blocks of
32 weights that share a scale, and the rows of q and k, which stand in the interleaved layout (plane i of a head is rows
2i and 2i + 1). Left as they are, a model halves in strength and goes on talking.
"""

import functools
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from posenc_jax.data.errors import DataError
from posenc_jax.files.shapes import Json
from posenc_jax.huggingface.safetensors import StoredTensor, each_once

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
_READ = (
    *("rope.dimension_count", "rope.freq_base", "rope.scale_linear", "rope.scaling.type", "rope.scaling.factor"),
    *("rope.scaling.original_context_length", "rope.scaling.finetuned", "attention.layer_norm_rms_epsilon"),
    *("attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"),
)
"""Keys of rotation and attention: any other one may change what is computed."""
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
_MOST = 2**24
"""The most keys, and the most tensors: a file that claims more is none."""


class Gguf(NamedTuple):
    """The content of a file: its keys and values, and its tensors under their own names, in NumPy's order of axes."""

    path: Path
    fields: Mapping[str, Any]
    tensors: Mapping[str, StoredTensor]


def read_gguf(path: Path) -> Gguf:
    """Everything but the values of tensors; `DataError` for what is no whole GGUF file."""
    try:
        with path.open("rb") as file:
            cursor = _Cursor(file, path.stat().st_size)
            if cursor.take(4) != b"GGUF":
                raise ValueError("it does not begin with GGUF")
            if (version := cursor.number("I")) not in (2, 3):
                raise ValueError(f"it is of version {version}, and 2 and 3 are read")
            num_tensors, num_fields = cursor.count(), cursor.count()
            fields = each_once((cursor.text(), cursor.value(cursor.number("I"))) for _ in range(num_fields))
            infos = each_once((cursor.text(), cursor.info()) for _ in range(num_tensors))
            alignment = fields.get("general.alignment", 32)
            if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
                raise ValueError(f"general.alignment = {alignment} is no power of two")
            start = -(-cursor.at // alignment) * alignment
    except (ValueError, struct.error) as error:
        raise DataError(f"{path} is no whole GGUF file ({error}): fetch it again, or name another") from None
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror}): name a file that can be read") from None
    tensors = {name: _stored(path, name, info, start, cursor.size) for name, info in infos.items()}
    return Gguf(path, fields, tensors)


def config_of(found: Gguf) -> Json:
    """The ``config.json`` that Hugging Face has for such a model; `DataError` for other architectures."""
    fields, kind = found.fields, found.fields.get("general.architecture")
    if kind != "llama":
        raise DataError(
            f"{found.path} is of the architecture {kind!r}, and GGUF is read of 'llama' alone: name the model's "
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


class _Cursor:
    """Reads numbers and texts one after another; ValueError beyond the end of the file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self.size, self.at = file, size, 0

    def take(self, count: int) -> bytes:
        if count > self.size - self.at:
            raise ValueError(f"it ends at byte {self.size:,}, and {count:,} bytes should follow byte {self.at:,}")
        self.at += count
        return self.file.read(count)

    def number(self, kind: str) -> Any:
        return struct.unpack(f"<{kind}", self.take(struct.calcsize(kind)))[0]

    def count(self) -> int:
        count: int = self.number("Q")
        if count > min(_MOST, self.size):
            raise ValueError(f"it claims {count:,} entries")
        return count

    def text(self) -> str:
        return self.take(self.number("Q")).decode()

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind != _ARRAY:
            raise ValueError(f"it has a value of the unknown kind {kind}")
        inner, count = self.number("I"), self.count()
        if inner == _TEXT:
            return [self.text() for _ in range(count)]
        if inner not in _SCALARS:
            raise ValueError(f"it has an array of the kind {inner}, which is not read")
        code = f"{count}{_SCALARS[inner]}"
        return list(struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}"))))

    def info(self) -> tuple[tuple[int, ...], int, int]:
        """Shape, type and offset of a tensor."""
        axes = self.number("I")
        if not 1 <= axes <= 4:
            raise ValueError(f"a tensor has {axes} axes")
        shape = tuple(self.number("Q") for _ in range(axes))[::-1]
        return shape, self.number("I"), self.number("Q")


class _Kind(NamedTuple):
    """A kind of block: its number of weights, its bytes, and the function that reads it."""

    name: str
    weights: int
    size: int
    values: Any


def _half(blocks: np.ndarray, at: int) -> np.ndarray:
    """``[n, 1]`` float32: the number of float16 at byte ``at`` of each block ``[n, size]``."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def _nibbles(blocks: np.ndarray) -> np.ndarray:
    """``[n, 32]``: the lower halves of 16 bytes, then the upper ones."""
    return np.concatenate([blocks & 15, blocks >> 4], axis=1).astype(np.float32)


_KINDS = {
    0: _Kind("F32", 1, 4, lambda b: b.reshape(-1).view("<f4")),
    1: _Kind("F16", 1, 2, lambda b: b.reshape(-1).view("<f2").astype(np.float32)),
    2: _Kind("Q4_0", 32, 18, lambda b: (_nibbles(b[:, 2:]) - 8) * _half(b, 0)),
    3: _Kind("Q4_1", 32, 20, lambda b: _nibbles(b[:, 4:]) * _half(b, 0) + _half(b, 2)),
    8: _Kind("Q8_0", 32, 34, lambda b: b[:, 2:].view(np.int8).astype(np.float32) * _half(b, 0)),
}
_OTHERS = {6: "Q5_0", 7: "Q5_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 30: "BF16"}
_AT_ONCE = 2**14  # blocks


def _stored(path: Path, name: str, info: tuple[tuple[int, ...], int, int], start: int, size: int) -> StoredTensor:
    shape, number, offset = info
    if number not in _KINDS:
        raise DataError(
            f"{path}: {name} is quantised as {_OTHERS.get(number, f'type {number}')}, and "
            f"{', '.join(kind.name for kind in _KINDS.values())} are read: name a file in one of these"
        )
    kind = _KINDS[number]
    if shape and shape[-1] % kind.weights:
        raise DataError(f"{path}: {name} of shape {list(shape)} makes no whole {kind.name} blocks: fetch it again")
    count = math.prod(shape) // kind.weights
    if start + offset + count * kind.size > size:
        raise DataError(
            f"{path} is no whole GGUF file ({name} of shape {list(shape)} ends at byte "
            f"{start + offset + count * kind.size:,}, and the file has {size:,}): fetch it again"
        )
    return StoredTensor(shape, kind.name, functools.partial(_read, path, kind, shape, start + offset, count))


def _read(path: Path, kind: _Kind, shape: tuple[int, ...], offset: int, count: int) -> np.ndarray:
    """The weights of a tensor in float32, some blocks after others: what is in between needs room too."""
    out = np.empty(count * kind.weights, np.float32)
    with path.open("rb") as file:
        file.seek(offset)
        for first in range(0, count, _AT_ONCE):
            blocks = np.fromfile(file, np.uint8, min(_AT_ONCE, count - first) * kind.size).reshape(-1, kind.size)
            values = kind.values(blocks).reshape(-1)
            out[first * kind.weights : first * kind.weights + values.size] = values
    return out.reshape(shape)
