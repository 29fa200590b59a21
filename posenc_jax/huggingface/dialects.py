"""Defaults and peculiarities of types of models: facts of the classes in transformers 5.24.

A config leaves out what its class has by default, and some classes read their settings in a way of their own. Only what
concerns positions is here, and only where it differs from `Dialect`.
"""

import dataclasses
from collections.abc import Mapping

from posenc_jax.encodings.shared.rotation import Layout


@dataclasses.dataclass(frozen=True)
class Dialect:
    """Defaults of a type of model.

    Attributes:
      base: of RoPE.
      local_base: of its sliding layers, where these have another one.
      base_key, local_key: their names in configs without ``rope_parameters``.
      partial: the fraction of head_dim that is rotated.
      head_dim: where a config has none; full_head_dim: of layers with full attention, where that differs.
      every: each so-many-th layer has full attention, the others a window (0: no such pattern); full_first: the first
        of them instead of the last.
      window: the default width of the window.
      windows: without a pattern, "all" layers have the window of the config, or, if ``use_sliding_window`` is true,
        those from ``max_window_layers`` on ("flag") or those that do not rotate ("flag_no_rope"); "none": the class has
        no windows, whatever a config says.
      typed: whether it reads ``layer_types``.
      scaled: the types of layers that an old ``rope_scaling`` applies to; () for all.
      local_rotation: layers with full attention do not rotate, where there are windows.
      linear_every: each so-many-th layer has full attention, the others a linear one without positions.
      no_rope_every: each so-many-th layer does not rotate; chunk: the size of the chunks of attention.
      tempered: layers that do not rotate multiply queries by a factor of their positions, as Llama 4; scaled_queries:
        those that rotate do, where the rotary parameters have ``llama_4_scaling_beta``, as Ministral 3.
      latent: a part of each head rotates, ``qk_rope_head_dim``, and logits are multiplied by the square of YaRN's
        second magnitude, as in DeepSeek.
      layout: which dimensions make a plane.
      odd: what the class does that no config says.
    """

    base: float = 10000.0
    local_base: float | None = None
    base_key: str = "rope_theta"
    local_key: str = "rope_local_base_freq"
    partial: float = 1.0
    head_dim: int | None = None
    full_head_dim: int | None = None
    every: int = 0
    full_first: bool = False
    window: int | None = None
    windows: str = "all"
    typed: bool = True
    scaled: tuple[str, ...] = ()
    local_rotation: bool = False
    no_rope_every: int = 0
    linear_every: int = 0
    chunk: int | None = None
    tempered: bool = False
    scaled_queries: bool = False
    latent: bool = False
    layout: Layout = "half"
    odd: str = ""


_LENGTHS = {
    2048: "llama granite olmo olmo2 olmo3 falcon phi gpt_neox gptj codegen exaone4 exaone_moe deepseek_v2 "
    "hunyuan_v1_dense hunyuan_v1_moe bitnet nomic_bert",
    4096: "phi3 starcoder2 stablelm nemotron helium deepseek_v3",
    8192: "gemma gemma2 modernbert modernbert-decoder cohere cohere2",
    16384: "persimmon",
    32768: "qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next qwen3_5_text qwen3_5_moe_text qwen2_vl qwen2_vl_text qwen2_5_vl "
    "qwen2_5_vl_text gemma3n gemma3n_text smollm3 glm4v glm4v_text",
    65536: "apertus",
    128000: "qwen3_vl qwen3_vl_text qwen3_vl_moe_text",
    131072: "mistral mixtral gemma3 gemma3_text gemma4 gemma4_text phimoe glm glm4 llama4 llama4_text gpt_oss ernie4_5",
    262144: "ministral3",
}
# ``max_position_embeddings`` by type, where a config has none.
MAX_LENGTHS = {kind: length for length, kinds in _LENGTHS.items() for kind in kinds.split()}


_FULL = ("full_attention",)
_PLAIN = Dialect(windows="none", typed=False)
_ALL_LOCAL = Dialect(typed=False)
_GEMMA_3 = Dialect(1e6, 1e4, head_dim=256, every=6, window=4096, scaled=_FULL)
_QWEN_NEXT = Dialect(head_dim=256, partial=0.25, linear_every=4)
_QWEN_VL = Dialect(1e6, windows="flag")
_MODERNBERT = Dialect(160000.0, 1e4, "global_rope_theta", "local_rope_theta", every=3, full_first=True, window=128)
_LLAMA_4 = Dialect(500000.0, head_dim=128, no_rope_every=4, chunk=8192, tempered=True, layout="interleaved")
_FALCON = dataclasses.replace(_PLAIN, odd="its ALiBi, where alibi is true, is divided by sqrt(head_dim), as the logits")
_DEEPSEEK = Dialect(latent=True, layout="interleaved")

DIALECTS: Mapping[str, Dialect] = {
    **dict.fromkeys(("llama", "granite", "olmo", "olmo2", "internlm2"), _PLAIN),
    "falcon": _FALCON,
    **dict.fromkeys(("phi3", "starcoder2"), _ALL_LOCAL),
    "mistral": dataclasses.replace(_ALL_LOCAL, window=4096),
    "ministral3": Dialect(1e6, head_dim=128, typed=False, scaled_queries=True),
    "mixtral": Dialect(1e6, typed=False),
    **dict.fromkeys(("qwen2", "qwen2_moe", "qwen3_moe"), Dialect(windows="flag", window=4096)),
    "qwen3": Dialect(head_dim=128, windows="flag", window=4096),
    **dict.fromkeys(("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"), _QWEN_NEXT),
    **dict.fromkeys(("qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"), _QWEN_VL),
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_text", "qwen3_vl_moe_text"), Dialect(500000.0, head_dim=128)),
    "gemma": Dialect(head_dim=256, windows="none", typed=False),
    "gemma2": Dialect(head_dim=256, every=2, window=4096),
    **dict.fromkeys(("gemma3", "gemma3_text"), _GEMMA_3),
    **dict.fromkeys(("gemma3n", "gemma3n_text"), dataclasses.replace(_GEMMA_3, every=5, window=512)),
    **dict.fromkeys(("gemma4", "gemma4_text"), Dialect(1e6, 1e4, head_dim=256, full_head_dim=512, every=6, window=512)),
    **dict.fromkeys(("modernbert", "modernbert-decoder"), _MODERNBERT),
    "phi": Dialect(partial=0.5),
    "phimoe": Dialect(1e6, odd="short_mscale and long_mscale are the attention factor below and above the switch"),
    "stablelm": Dialect(partial=0.25),
    "nemotron": Dialect(partial=0.5),
    "persimmon": Dialect(partial=0.5),
    "gpt_neox": Dialect(base_key="rotary_emb_base", partial=0.25, windows="none", typed=False),
    "gptj": Dialect(layout="interleaved", windows="none", typed=False),
    "codegen": Dialect(layout="interleaved"),
    "cohere": Dialect(500000.0, layout="interleaved"),
    "cohere2": Dialect(every=4, window=4096, local_rotation=True, layout="interleaved"),
    **dict.fromkeys(("exaone4", "exaone_moe"), Dialect(every=4, window=4096, local_rotation=True)),
    "glm": Dialect(head_dim=128, partial=0.5, layout="interleaved"),
    "glm4": Dialect(head_dim=128, partial=0.5, layout="interleaved"),
    **dict.fromkeys(("glm4v", "glm4v_text"), Dialect(layout="interleaved", windows="none", typed=False)),
    "smollm3": Dialect(2e6, windows="flag_no_rope", no_rope_every=4),
    **dict.fromkeys(("llama4", "llama4_text"), _LLAMA_4),
    "olmo3": Dialect(500000.0, every=4, window=4096, scaled=_FULL),
    "gpt_oss": Dialect(150000.0, head_dim=64, every=2, window=128),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "kimi_k2"), _DEEPSEEK),
    **dict.fromkeys(("hunyuan_v1_dense", "hunyuan_v1_moe"), Dialect()),
    "ernie4_5": Dialect(500000.0, layout="interleaved"),
    "helium": Dialect(100000.0, layout="interleaved"),
    "apertus": Dialect(12e6),
    "bitnet": Dialect(500000.0),
    "nomic_bert": Dialect(1000.0, base_key="rotary_emb_base"),
}
