"""What public code gives, for `ours` to be compared with.

    PYTHON scripts/comparing/theirs.py FILE.npz [REPOSITORIES]

writes an array for each comparison. PYTHON has torch and transformers; REPOSITORIES is a folder with checkouts of the
authors' repositories, each named OWNER+NAME: a comparison whose repository is not there is left out.
"""

import functools
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
from given import ADDITION, ATTRIBUTES, BOXES, CELLS, POSITIONS, SCALINGS, SCRATCHPAD, TABLES, normal

THEIRS: dict[str, Callable[[], np.ndarray]] = {}
"""By the key of the comparison."""
REPOSITORIES: list[Path] = []


def key(*names: str) -> Callable:
    """Adds a function under each name, which it is given if it takes an argument."""

    def add(function: Callable) -> Callable:
        for name in names:
            takes = bool(inspect.signature(function).parameters)
            THEIRS[name] = functools.partial(function, name) if takes else function
        return function

    return add


def _numpy(x: torch.Tensor) -> np.ndarray:
    return x.detach().numpy()


def _vectors(*shape: int) -> torch.Tensor:
    return torch.tensor(normal(*shape))


def modeling(name: str) -> types.ModuleType:
    """The code of a model of transformers."""
    return importlib.import_module(f"transformers.models.{name}.modeling_{name}")


# The model, its config, its rotary module, head_dim, and RoPE's settings.
TURNED: dict[str, tuple[str, str, str, int, dict[str, Any]]] = {
    "Partial RoPE": ("gpt_neox", "GPTNeoXConfig", "GPTNeoXRotaryEmbedding", 32, {"partial_rotary_factor": 0.25}),
    "Partial RoPE of neighbours (GLM-4)": (
        *("glm", "GlmConfig", "GlmRotaryEmbedding", 16),
        {"partial_rotary_factor": 0.5},
    ),
    "M-RoPE": (
        *("qwen2_vl", "Qwen2VLTextConfig", "Qwen2VLRotaryEmbedding", 16),
        {"rope_theta": 1e6, "mrope_section": [2, 3, 3]},
    ),
    "M-RoPE, interleaved": (
        *("qwen3_vl", "Qwen3VLTextConfig", "Qwen3VLTextRotaryEmbedding", 32),
        {"rope_theta": 1e6, "mrope_section": [6, 5, 5]},
    ),
    "M-RoPE, rows and columns first (ERNIE 4.5 VL)": (
        *("ernie4_5_vl_moe", "Ernie4_5_VLMoeTextConfig", "Ernie4_5_VLMoeTextRotaryEmbedding", 16),
        {"rope_theta": 5e5, "mrope_section": [3, 3, 2]},
    ),
    "M-RoPE of a part (GLM-4.1V)": (
        *("glm4v", "Glm4vTextConfig", "Glm4vTextRotaryEmbedding", 32),
        {"partial_rotary_factor": 0.5, "mrope_section": [2, 3, 3]},
    ),
    **{name: ("llama", "LlamaConfig", "LlamaRotaryEmbedding", 16, rope) for name, rope in SCALINGS.items()},
}


@key(*TURNED)
def turned(name: str) -> np.ndarray:
    """Queries ``[1, 2, S, head_dim]`` of a text, or of a film."""
    model, config, rotary, dim, given = TURNED[name]
    theirs, rope = modeling(model), {"rope_type": "default", "rope_theta": 10000.0, **given}
    described = getattr(theirs, config)(
        hidden_size=2 * dim,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=dim,
        max_position_embeddings=64 if rope["rope_type"] == "dynamic" else 8 * 512,
        rope_parameters=rope,
    )
    positions = CELLS[:, None] if "mrope_section" in rope else POSITIONS[None]
    x = _vectors(1, 2, positions.shape[-1], dim)
    cos, sin = getattr(theirs, rotary)(described)(x, torch.tensor(positions))
    return _numpy(theirs.apply_rotary_pos_emb(x, x, cos, sin)[0])


@key("Axial 2-D RoPE (encoder of Qwen2-VL)")
def qwen2_vl_encoder() -> np.ndarray:
    qwen = modeling("qwen2_vl")
    rotary = qwen.Qwen2VLVisionRotaryEmbedding(qwen.Qwen2VLVisionConfig(embed_dim=32, num_heads=2))
    x = _vectors(1, 2, CELLS.shape[1], 16)
    cos, sin = rotary(x, torch.tensor(CELLS[1:]).T)
    turned = qwen.apply_rotary_pos_emb_vision(x[0].transpose(0, 1), x[0].transpose(0, 1), cos, sin)[0]
    return _numpy(turned.transpose(0, 1)[None])


@key("Axial 2-D RoPE (Pixtral)")
def pixtral() -> np.ndarray:
    pixtral = modeling("pixtral")
    config = pixtral.PixtralVisionConfig(hidden_size=32, num_attention_heads=2, rope_theta=10000.0)
    x = _vectors(1, 2, CELLS.shape[1], 16)
    cos, sin = pixtral.PixtralVisionRotaryEmbedding(config)(x, torch.tensor(CELLS[1:]).T)
    return _numpy(pixtral.apply_rotary_pos_emb(x, x, cos[None], sin[None])[0])


@key("Axial 2-D RoPE of disturbed images (DINOv3)")
def dinov3() -> np.ndarray:
    dino = modeling("dinov3_vit")
    config = dino.DINOv3ViTConfig(hidden_size=32, num_attention_heads=2, image_size=64, patch_size=16)
    cos, sin = dino.DINOv3ViTRopePositionEmbedding(config).eval()(torch.zeros(1, 3, 32, 48))
    x = _vectors(1, 2, 6, 16)
    return _numpy(dino.apply_rotary_pos_emb(x, x, cos, sin)[0])


@key("ALiBi", "ALiBi with another largest exponent")
def mpt(name: str) -> np.ndarray:
    return _numpy(modeling("mpt").build_mpt_alibi_tensor(6, 12, 8 if name == "ALiBi" else 16))


@key("T5 bias")
def t5() -> np.ndarray:
    t5 = modeling("t5")
    layer = t5.T5Attention(t5.T5Config(d_model=8, d_kv=4, num_heads=2, is_decoder=False), True, layer_idx=0)
    layer.relative_attention_bias.weight.data = _vectors(2, 32).T
    return _numpy(layer.compute_bias(300, 300))


@key("Gated relative bias (WavLM)")
def wavlm() -> np.ndarray:
    layer = modeling("wavlm").WavLMAttention(16, 2, num_buckets=8, max_distance=6).double()
    layer.rel_attn_embed.weight.data, layer.gru_rel_pos_const.data = _vectors(2, 8).T, _vectors(1, 2, 1, 1)
    layer.gru_rel_pos_linear.weight.data, layer.gru_rel_pos_linear.bias.data = _vectors(8, 8), _vectors(8)
    layer.torch_multi_head_self_attention = lambda hidden, mask, bias: (bias, None)
    return _numpy(layer(_vectors(1, 12, 16))[0])[None]


@key("Relative logits (Inkling)")
def inkling() -> np.ndarray:
    layer, places = modeling("inkling").InklingRelativeLogits(4, 8), torch.arange(12)
    layer.proj.data = _vectors(4, 8)
    return _numpy(layer(torch.einsum("bsm,mhr->bshr", _vectors(1, 12, 16), _vectors(16, 2, 4)), places, places))


@key("Relative logits of clipped mixtures (Inkling 2)")
def inkling_2() -> np.ndarray:
    theirs = modeling("inkling2")
    config = theirs.Inkling2TextConfig(hidden_size=16, d_rel=4, rel_l2_clip_threshold=2.0, log_scaling_n_floor=4)
    layer, places = theirs.Inkling2RelativePositionBias(config, 2, 8, log_scaling=True).double(), torch.arange(12)
    layer.proj.data, layer.norm.scale.data = _vectors(4, 8), _vectors(2, 4)
    layer.linear.weight.data = _vectors(16, 2, 4).reshape(16, 8).T
    return _numpy(layer(_vectors(1, 12, 16), places[:, None] - places, places[None]))


@key("Window bias (Swin)")
def swin() -> np.ndarray:
    layer = modeling("swin").SwinRelativePositionBias(2, (3, 4))
    layer.relative_position_bias_table.data = _vectors(35, 2)
    return _numpy(layer())


@key("Log-spaced continuous bias (Swin V2)")
def swin_v2() -> np.ndarray:
    swin = modeling("swinv2")
    layer = swin.Swinv2SelfAttention(swin.Swinv2Config(), 8, 2, (3, 4)).double()
    first, _, last = layer.continuous_position_bias_mlp
    first.weight.data, first.bias.data, last.weight.data = _vectors(512, 2), _vectors(512), _vectors(2, 512) / 8
    coordinates, index = layer.create_coords_table_and_index()
    found = layer.continuous_position_bias_mlp(coordinates.double()).view(-1, 2)[index.view(-1)]
    return _numpy(16 * torch.sigmoid(found.view(12, 12, 2).permute(2, 0, 1)))[None]


@key("Decomposed relative positions (MViTv2, ViTDet)")
def vitdet() -> np.ndarray:
    given = torch.zeros(2, 12, 12).double(), _vectors(2, 12, 8), _vectors(5, 8), _vectors(7, 8)
    return _numpy(modeling("vitdet").add_decomposed_relative_positions(*given, (3, 4), (3, 4)))[None]


@key("2-D sinusoidal (MAE)")
def mae() -> np.ndarray:
    return _numpy(modeling("vit_mae").build_2d_sinusoidal_position_embedding(5, 3, 16, dtype=torch.float64))


@key("2-D sinusoidal of an image's size (DETR)")
def detr() -> np.ndarray:
    layer = modeling("detr").DetrSinePositionEmbedding(8, normalize=True)
    found = layer.build_sine_position_embedding((1, 3, 4, 5), "cpu", torch.float64, 8, True, layer.scale)
    return _numpy(found)[0].reshape(16, 20).T


@key("Random Fourier features (Segment Anything)")
def sam() -> np.ndarray:
    layer = modeling("sam").SamPositionalEmbedding(types.SimpleNamespace(scale=1.0, num_pos_feats=8)).double()
    layer.positional_embedding.data = _vectors(2, 8)
    rows, columns = np.indices((4, 5)) + 0.5
    return _numpy(layer(torch.tensor(np.stack([columns / 5, rows / 4], axis=-1)))).reshape(20, 16)


@key("Fourier features in linear bands (Perceiver)")
def perceiver() -> np.ndarray:
    theirs = modeling("perceiver")
    cells = theirs.build_linear_positions((4, 5)).double().reshape(1, 20, 2)
    return _numpy(theirs.generate_fourier_features(cells, 6, (224, 224)))[0]


def _silent(layer: torch.nn.Module, **tables: np.ndarray) -> torch.nn.Module:
    """Embeddings whose tables are these, all others 0, without a norm."""
    for name, part in layer.double().named_children():
        if isinstance(part, torch.nn.Embedding):
            part.weight.data = torch.tensor(tables[name]) if name in tables else torch.zeros_like(part.weight)
    layer.LayerNorm = torch.nn.Identity()
    return layer.eval()


@key("Boxes on a page (LayoutLM)")
def layoutlm() -> np.ndarray:
    layoutlm = modeling("layoutlm")
    config = layoutlm.LayoutLMConfig(vocab_size=9, hidden_size=16, max_2d_position_embeddings=16)
    names = (f"{part}_position_embeddings" for part in ("x", "y", "h", "w"))
    tables = {name: normal(16, 16, seed=i) for i, name in enumerate(names)}
    layer = _silent(layoutlm.LayoutLMEmbeddings(config), **tables)
    return _numpy(layer(torch.zeros(1, 3, dtype=torch.int64), bbox=torch.tensor(BOXES[None])))[0]


@key("Tables of seven attributes (TaPas)")
def tapas() -> np.ndarray:
    tapas = modeling("tapas")
    config = tapas.TapasConfig(vocab_size=9, hidden_size=16, type_vocab_sizes=list(TABLES))
    tables = {f"token_type_embeddings_{a}": normal(rows, 16, seed=a) for a, rows in enumerate(TABLES)}
    config.reset_position_index_per_cell = False
    layer = _silent(tapas.TapasEmbeddings(config), **tables)
    types = torch.tensor(ATTRIBUTES[None])
    return _numpy(layer(torch.zeros(1, 12, dtype=torch.int64), token_type_ids=types))[0]


@key("Convolutional positions (wav2vec 2.0)")
def wav2vec() -> np.ndarray:
    wav2vec = modeling("wav2vec2")
    config = wav2vec.Wav2Vec2Config(hidden_size=32, num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=4)
    layer = wav2vec.Wav2Vec2PositionalConvEmbedding(config).double()
    weight = layer.conv.parametrizations.weight
    weight.original1.data, weight.original0.data = _vectors(32, 8, 8), _vectors(1, 1, 8)
    layer.conv.bias.data = _vectors(32)
    return _numpy(layer(_vectors(1, 12, 32)))


@key("Sinusoidal, tensor2tensor's form")
def m2m() -> np.ndarray:
    return _numpy(modeling("m2m_100").M2M100SinusoidalPositionalEmbedding.get_embedding(120, 16))


@key("M-RoPE at absolute time (Qwen2.5-VL)")
def qwen2_5_vl() -> np.ndarray:
    model = modeling("qwen2_5_vl").Qwen2_5_VLModel
    cells = model.get_vision_position_ids(None, 3, torch.tensor([3, 2, 3]), time_interval=4)
    return _numpy(cells.T)


@key("TMRoPE (Qwen2.5-Omni)")
def qwen2_5_omni() -> np.ndarray:
    omni = modeling("qwen2_5_omni")
    own = omni.Qwen2_5OmniPreTrainedModelForConditionalGeneration
    image, video, audio, vision_start, audio_start, text = range(1, 7)
    config = types.SimpleNamespace(
        image_token_id=image,
        video_token_id=video,
        audio_token_id=audio,
        vision_start_token_id=vision_start,
        audio_start_token_id=audio_start,
        position_id_per_seconds=25,
        seconds_per_chunk=2,
    )
    model = types.SimpleNamespace(spatial_merge_size=1, config=config)
    for name in ("get_llm_pos_ids_for_vision", "get_chunked_index"):
        setattr(model, name, types.MethodType(getattr(own, name), model))
    tokens = torch.tensor([[text, text, vision_start, audio_start, *[video] * 36, *[audio] * 70, *[text] * 5]])
    samples = torch.tensor([280])  # of which 70 tokens are left
    found = own.get_rope_index(model, tokens, None, torch.tensor([[6, 2, 3]]), None, True, samples, torch.tensor([0.5]))
    return _numpy(found[0][:, 0].T)


@key("RoPE with rotated values (RoVE)")
def deepseek_v4() -> np.ndarray:
    theirs = modeling("deepseek_v4")
    x = _vectors(1, 2, len(POSITIONS), 16)
    angles = torch.tensor(POSITIONS[..., None]) * 10000.0 ** (-torch.arange(8, dtype=torch.float64) / 8)
    cos, sin = angles.cos()[None], angles.sin()[None]
    return _numpy(torch.stack([theirs.apply_rotary_pos_emb(x, cos, s) for s in (sin, -sin)]))


# The authors' repositories.


def module_of(repository: str, path: str) -> types.ModuleType:
    """A file of a checkout, run by itself."""
    file = REPOSITORIES[0] / repository / path
    described = importlib.util.spec_from_file_location(file.stem, file)
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


@key("VRoPE")
def vrope() -> np.ndarray:
    theirs = module_of("johncaged+VRoPE", "vrope.py")
    numbers = theirs.VRoPE(6, 0)
    for part in (theirs.VRoPETextShape(3), theirs.VRoPEVideoShape(3, 2, 3), theirs.VRoPETextShape(2)):
        numbers.add_shape(part)
    numbers.add_shape(theirs.VRoPEImageShape(2, 3))
    numbers.add_shape(theirs.VRoPETextShape(1))
    return _numpy(numbers())


@key("Circle-RoPE")
def circle() -> np.ndarray:
    theirs = module_of("lose4578+CircleRoPE", "code/circle_rope.py")
    settings = {"move_to_origin": True, "radius": 10, "alpha": 0.5}
    time, row, column = (torch.tensor(axis).double() for axis in np.indices((1, 2, 3)))
    found = theirs.get_circle_rope_index(column, row, time, types.SimpleNamespace(circle_rope=settings))
    return _numpy(found.T)


@key("RIFLEx")
def riflex() -> np.ndarray:
    theirs = module_of("thu-ml+RIFLEx", "riflex_utils.py")
    plane = theirs.identify_k(10000.0, 16, 60)
    plane = plane[0] if isinstance(plane, tuple) else plane
    turns = theirs.get_1d_rotary_pos_embed_riflex(16, POSITIONS, k=plane, L_test=100)
    return _by_complex_numbers(turns, len(POSITIONS))


@key("Omni-RoPE (OmniGen2)")
def omnigen2() -> np.ndarray:
    theirs = module_of("VectorSpaceLab+OmniGen2", "omnigen2/models/transformers/repo.py")
    rotary = theirs.OmniGen2RotaryPosEmbed(10000, (8, 8, 8), patch_size=1)
    tables = rotary.get_freqs_cis((8, 8, 8), (300, 512, 512), 10000)
    text = torch.ones(1, 3, dtype=torch.int64)
    turns = rotary(tables, text, [[6]], [6], [[(2, 3)]], [(3, 2)], torch.device("cpu"))[3][0]
    return _by_complex_numbers(turns, 15)


@key("Position coupling", "Position coupling of two levels")
def coupled(name: str) -> np.ndarray:
    checkout = REPOSITORIES[0] / "HanseulJo+position-coupling"
    sys.path.insert(0, str(checkout))
    package = types.ModuleType("src.data")  # its own __init__ imports models, of older packages
    package.__path__ = [str(checkout / "src" / "data")]
    sys.modules["src.data"] = package
    addition = importlib.import_module("src.data.addition")

    sums = addition.AdditionDatasetWithCoupledPositions
    scratchpads = addition.MultipleAdditionScratchPadDatasetWithCoupledPositions
    kind, text = (sums, ADDITION) if name == "Position coupling" else (scratchpads, SCRATCHPAD)
    data = kind.__new__(kind)  # without the drawn numbers
    data.inputs, data.labels = ([part] for part in text.split("="))
    data.pad_token, data.reverse_input, data.reverse_output, data.reverse_output_order = "0", False, True, False
    data.randomize = data.vanilla = False
    _, _, before, behind = data[0]
    levels = zip(before, behind) if name.endswith("levels") else [(before, behind)]
    return np.array([[*own, *rest] for own, rest in levels])


@key("CLEX")
def clex() -> np.ndarray:
    sys.modules.setdefault("wandb", types.ModuleType("wandb"))  # imported and not used
    theirs = module_of("DAMO-NLP-SG+CLEX", "CLEX/clex_layer.py")
    settings = {"max_factor": 4, "param_factor": 1, "act": "silu", "time_dt": 0.01}
    layer = theirs.CLEXScalingRotaryEmbedding(16, 64, settings)
    layer.proj_func.ode_up_proj.data, layer.proj_func.ode_down_proj.data = _vectors(8, 16) / 16, _vectors(16, 8) / 16
    x = _vectors(1, 2, len(POSITIONS), 16)
    # Positions are those of a text of 120 tokens, of which every seventh is compared.
    cos, sin = (table[POSITIONS].double() for table in layer(x, 120))
    half = torch.cat((-x[..., 8:], x[..., :8]), dim=-1)
    return _numpy(x * cos + half * sin)


@key("RoPE with a strength")
def audiocraft() -> np.ndarray:
    theirs = module_of("facebookresearch+audiocraft", "audiocraft/modules/rope.py")
    rotary = theirs.RotaryEmbedding(16, scale=0.5, dtype=torch.float64)
    every = torch.zeros(1, 2, POSITIONS.max() + 1, 16, dtype=torch.float64)
    every[:, :, POSITIONS] = _vectors(1, 2, len(POSITIONS), 16)
    return _numpy(rotary.rotate(every, time_dim=2)[:, :, POSITIONS])


def _by_complex_numbers(turns: torch.Tensor, count: int) -> np.ndarray:
    """Queries ``[1, 2, count, D]`` times turns ``[count, D/2]``; neighbouring dimensions are a complex number."""
    planes = torch.view_as_complex(_vectors(1, 2, count, turns.shape[-1], 2))
    return _numpy(torch.view_as_real(planes * turns).flatten(-2))


def main(arguments: list[str]) -> None:
    REPOSITORIES.extend(Path(folder) for folder in arguments[1:])
    found = {}
    for name, function in THEIRS.items():
        try:
            found[name] = function()
        except (FileNotFoundError, IndexError, ModuleNotFoundError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    arrays: dict[str, Any] = {name.replace("/", "|"): array for name, array in found.items()}
    np.savez(arguments[0], **arrays)


if __name__ == "__main__":
    main(sys.argv[1:])
