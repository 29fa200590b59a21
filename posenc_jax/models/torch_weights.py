"""Parameters under the names of `torch.nn.Transformer`, and back: exact copies, stacked and transposed.

torch has the stacks only. What stands around them is called ``embedding.weight``, ``generator.weight`` and
``generator.bias`` here, so that a state dict fits this module of PyTorch, with sinusoidal positions added outside::

    import torch

    class Model(torch.nn.Transformer):
        def __init__(self, vocab_size, num_classes, d_model, **settings):
            super().__init__(d_model, batch_first=True, **settings)
            self.embedding = torch.nn.Embedding(vocab_size, d_model)
            self.generator = torch.nn.Linear(d_model, num_classes)

        def embed(self, tokens):
            positions = torch.arange(tokens.shape[1], dtype=torch.float64)[:, None]
            even = torch.arange(0, self.d_model, 2, dtype=torch.float64)
            angles = positions * 10000.0 ** (-even / self.d_model)
            table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
            x = self.embedding(tokens)
            return x * self.d_model**0.5 + table.to(x)

        def forward(self, source, target, source_padding=None):
            future = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=target.device).triu(1)
            x = super().forward(
                self.embed(source),
                self.embed(target),
                tgt_mask=future,
                src_key_padding_mask=source_padding,
                memory_key_padding_mask=source_padding,
            )
            return self.generator(x)

Its settings follow from a `Transformer`: ``nhead=num_heads, num_encoder_layers, num_decoder_layers`` (or num_layers for
both), ``dim_feedforward=mlp_dim, activation=activation, norm_first=norm == "pre", layer_norm_eps=norm_epsilon``, where
"gelu_tanh" is ``torch.nn.GELU("tanh")`` and "silu" ``torch.nn.SiLU()``. With ``scale_embeddings = False``
``embed`` leaves out the factor ``d_model**0.5``. A table of the target's own is
``target_embedding.weight``. The other kinds of model are one `torch.nn.TransformerEncoder` called ``encoder``, a
decoder-only one called with a causal mask.
"""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from flax import nnx

from posenc_jax.model_kind import ModelKind
from posenc_jax.models.blocks import Block
from posenc_jax.models.config import COMPUTING, Transformer

LeafPath = tuple[str | int, ...]

# Our stacks and the names of torch's.
_STACKS: dict[str, dict[str, str]] = {
    "encoder_decoder": {"encoder": "encoder", "decoder": "decoder"},
    "encoder_only": {"encoder": "encoder"},
    "decoder_only": {"decoder": "encoder"},
}
# Of each layer of ours the tensors of torch's, and the matrices that each stacks.
_QKV = ("query", "key", "value")
_LAYERS: dict[str, dict[str, tuple[str, ...]]] = {
    "self_attention": {"self_attn.in_proj_": _QKV, "self_attn.out_proj.": ("output",)},
    "cross_attention": {"multihead_attn.in_proj_": _QKV, "multihead_attn.out_proj.": ("output",)},
    "mlp": {"linear1.": ("hidden",), "linear2.": ("output",)},
}
# The fields that torch's modules have too; of all others the default is theirs.
_EXPORTED = COMPUTING.union(
    ("d_model", "num_layers", "num_encoder_layers", "num_decoder_layers", "num_heads", "mlp_dim", "final_norm"),
    ("norm_epsilon", "norm_bias", "scale_embeddings", "tie_output", "tie_embeddings", "output_bias", "mlp_bias"),
    ("attention_bias", "attention_output_bias"),
)


class _Tensor(NamedTuple):
    """A tensor of torch: which of ours it stacks (none: it is zero), and its shape (None: any size)."""

    name: str
    parts: tuple[LeafPath, ...]
    shape: tuple[int | None, ...]
    transposed: bool = False
    optional: bool = False


def to_torch(params: Mapping[str, Any], config: Transformer) -> dict[str, np.ndarray]:
    """The state dict of the torch modules described above, for the parameters of a model without those of encodings.

    A torch Linear holds ``[outputs, inputs]``, ours ``[inputs, outputs]``; torch stacks the projections of queries,
    keys and values. Where the config has no biases torch gets zeros, which it would train. With ``tie_output`` the
    table stands there twice, as ``generator.weight`` (of a Linear without bias, to be tied again). A model without
    final norms needs torch stacks made with ``norm=None``, which torch.nn.Transformer takes as ``custom_encoder`` and
    ``custom_decoder``. Dropout differs in training: torch also drops attention weights and hidden units.

    Raises:
      ValueError: the config or a parameter has no counterpart in torch's modules.
    """
    ours = dict(_leaves(params))
    tensors = {}
    taken: set[LeafPath] = set()
    for tensor in _tensors(config, _kind_of(params)):
        missing = [path for path in tensor.parts if path not in ours]
        if missing and tensor.optional:
            continue
        if missing:
            raise ValueError(f"params lacks {_dotted(missing[0])}: pass the parameters of a model of this config")
        taken.update(tensor.parts)
        parts = [np.asarray(ours[path]) for path in tensor.parts]
        if parts:
            stacked = np.concatenate([part.T if tensor.transposed else part for part in parts])
            tensors[tensor.name] = np.ascontiguousarray(stacked)
        else:
            dtype = next(iter(tensors.values())).dtype
            tensors[tensor.name] = np.zeros(tensor.shape, dtype)  # type: ignore[arg-type]
    homeless = [_dotted(path) for path in ours if path not in taken]
    if homeless:
        raise ValueError(
            f"{listed(homeless)} do not fit torch.nn.Transformer: leave them out of params and give them to "
            "torch by hand, or keep the model in posenc_jax's own format"
        )
    return tensors


def from_torch(state_dict: Mapping[str, Any], config: Transformer, kind: ModelKind) -> dict[str, Any]:
    """The inverse of `to_torch`: parameters of a model of this kind, without those of encodings.

    Values are arrays or CPU tensors and keep their dtype. ``embedding.weight`` and ``generator.*`` may be missing (the
    result then has no "embedding" and "output"), a missing ``generator.bias`` is zero; so may biases that the config
    has not, which must be zero otherwise.

    Raises:
      ValueError: the config has no counterpart in torch's modules, or does not belong to these tensors: their names or
        shapes are others.
    """
    left = {name: np.asarray(value) for name, value in state_dict.items()}
    params: dict[str, Any] = {}
    missing = []
    for tensor in _tensors(config, kind):
        if tensor.name not in left:
            if tensor.parts and not tensor.optional:
                missing.append(tensor.name)
            continue
        array = left.pop(tensor.name)
        if len(array.shape) != len(tensor.shape) or any(
            need not in (None, got) for need, got in zip(tensor.shape, array.shape, strict=True)
        ):
            need = ", ".join("any" if size is None else str(size) for size in tensor.shape)
            raise ValueError(
                f"{tensor.name} is {list(array.shape)} in the state dict and [{need}] by the config: "
                "give d_model, mlp_dim and num_layers the values of the torch model"
            )
        if not tensor.parts and array.any():
            raise ValueError(
                f"{tensor.name} is not zero, and the config has no such bias: set attention_bias and mlp_bias "
                "(attention_output_bias, norm_bias) to True"
            )
        for path, part in zip(tensor.parts, np.split(array, max(len(tensor.parts), 1)), strict=False):
            before = _insert(params, path, np.array(part.T if tensor.transposed else part, order="C"))
            if before is not None and not np.array_equal(before, part, equal_nan=True):
                raise ValueError(
                    "generator.weight is not equal to embedding.weight, and the config has tie_output = True: set it "
                    "to False, or leave generator.weight out"
                )
    if missing or left:
        raise ValueError(_mismatch(missing, list(left), config, kind))
    layer, name = _output_matrix(config)
    if config.has_output_bias and (matrix := params.get(layer, {}).get(name)) is not None:
        classes = matrix.shape[0 if config.tie_output else 1]
        params.setdefault("output", {}).setdefault("bias", np.zeros(classes, matrix.dtype))
    return params


def _output_matrix(config: Transformer) -> tuple[str, str]:
    """The path of the matrix of the output layer, a table ``[C, M]`` where it is tied."""
    if config.tie_output:
        return "embedding" if config.tie_embeddings else "target_embedding", "table"
    return "output", "kernel"


def _tensors(config: Transformer, kind: ModelKind) -> Iterator[_Tensor]:
    _check(config)
    width = config.d_model
    for stack, theirs in _STACKS[kind].items():
        for layer in range(config.depth(stack)):
            ours: LeafPath = (stack, "blocks", layer)
            prefix = f"{theirs}.layers.{layer}"
            yield from _block(config, ours, prefix, cross=kind == "encoder_decoder" and stack == "decoder")
        if config.has_final_norm:
            yield from _norm(config, (stack, "final_norm"), f"{theirs}.norm")
    yield _Tensor("embedding.weight", (("embedding", "table"),), (None, width), optional=True)
    if not config.tie_embeddings:
        yield _Tensor("target_embedding.weight", (("target_embedding", "table"),), (None, width), optional=True)
    tied = config.tie_output
    yield _Tensor("generator.weight", (_output_matrix(config),), (None, width), transposed=not tied, optional=True)
    if config.has_output_bias:
        yield _Tensor("generator.bias", (("output", "bias"),), (None,), optional=True)


def _block(config: Transformer, ours: LeafPath, theirs: str, *, cross: bool) -> Iterator[_Tensor]:
    norms = ["self_attention_norm", *(["cross_attention_norm"] if cross else []), "mlp_norm"]
    for number, norm in enumerate(norms, 1):
        yield from _norm(config, (*ours, norm), f"{theirs}.norm{number}")
    for name, tensors in _LAYERS.items():
        there = _matrices(config, cross).get(name, {})
        for tensor, stacked in tensors.items() if there else ():
            paths, matrices = [(*ours, name, matrix) for matrix in stacked], [there[matrix] for matrix in stacked]
            yield from _linear(paths, f"{theirs}.{tensor}", matrices)


@functools.lru_cache
def _matrices(config: Transformer, cross: bool) -> dict[str, dict[str, nnx.Linear]]:
    """The matrices of each layer of a block, as shapes."""
    block = nnx.eval_shape(lambda: Block(config, cross=cross, rngs=nnx.Rngs(0)))
    layers = {name: getattr(block, name) for name in Block.split}
    return {
        name: {matrix: getattr(layer, matrix) for matrix in layer.split if getattr(layer, matrix) is not None}
        for name, layer in layers.items()
        if layer is not None
    }


def _norm(config: Transformer, ours: LeafPath, theirs: str) -> Iterator[_Tensor]:
    biases = ((*ours, "bias"),) if config.norm_bias else ()
    yield _Tensor(f"{theirs}.weight", ((*ours, "scale"),), (config.d_model,))
    yield _Tensor(f"{theirs}.bias", biases, (config.d_model,))


def _linear(ours: list[LeafPath], theirs: str, matrices: list[nnx.Linear]) -> Iterator[_Tensor]:
    size, inputs = sum(matrix.out_features for matrix in matrices), matrices[0].in_features
    biases = tuple((*path, "bias") for path in ours) if matrices[0].use_bias else ()
    yield _Tensor(f"{theirs}weight", tuple((*path, "kernel") for path in ours), (size, inputs), transposed=True)
    yield _Tensor(f"{theirs}bias", biases, (size,))


def _check(config: Transformer) -> None:
    some: dict[str, Any] = {
        "norm": ("post",),
        "activation": ("relu", "silu", "gelu_tanh"),
        "num_kv_heads": (config.num_heads,),
        "head_dim": (config.d_model / config.num_heads,),
    }
    for field in dataclasses.fields(config):
        name, value = field.name, getattr(config, field.name)
        if name not in _EXPORTED and value not in (field.default, *some.get(name, ())):
            raise ValueError(
                f"{name} = {value!r} does not fit torch.nn.Transformer, which has no such option: keep the model in "
                "posenc_jax's own format, or train one without"
            )


def _kind_of(params: Mapping[str, Any]) -> ModelKind:
    for kind, stacks in _STACKS.items():
        if stacks.keys() == params.keys() & {"encoder", "decoder"}:
            return kind  # type: ignore[return-value]
    raise ValueError(f"params has neither an encoder nor a decoder, only {sorted(params)}: pass those of a whole model")


def _mismatch(missing: list[str], extra: list[str], config: Transformer, kind: str) -> str:
    norms = {f"{stack}.norm.{leaf}" for stack in ("encoder", "decoder") for leaf in ("weight", "bias")}
    parts = [f"lacks {listed(missing)}"] if missing else []
    parts += [f"has {listed(extra)}, which do not fit"] if extra else []
    if {*missing, *extra} <= norms:
        way_out = f"set final_norm to {not config.has_final_norm}"
    elif all(name in norms or name.startswith(("encoder.layers.", "decoder.layers.")) for name in (*missing, *extra)):
        way_out = "set num_layers and kind to those of the torch model"
    else:
        way_out = (
            "names are those of torch.nn.Transformer (encoder.layers.0.self_attn.in_proj_weight), and "
            "embedding.weight, generator.weight, generator.bias: add or remove prefixes, and leave out all others"
        )
    return f"the state dict {' and '.join(parts)} in a model of kind {kind!r} with this config: {way_out}"


def _leaves(tree: Any, path: LeafPath = ()) -> Iterator[tuple[LeafPath, Any]]:
    if isinstance(tree, Mapping | tuple | list):
        for key, value in tree.items() if isinstance(tree, Mapping) else enumerate(tree):
            yield from _leaves(value, (*path, key))
    elif tree is not None:
        yield path, tree


def _insert(tree: dict, path: LeafPath, value: np.ndarray) -> np.ndarray | None:
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    before, tree[path[-1]] = tree.get(path[-1]), value
    return before


def _dotted(path: LeafPath) -> str:
    return ".".join(map(str, path))


def listed(names: list[str]) -> str:
    """The first few names, and how many there are beyond."""
    few = 4
    return ", ".join(names[:few]) + (f" and {len(names) - few} more" if len(names) > few else "")
