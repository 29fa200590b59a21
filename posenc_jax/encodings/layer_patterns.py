"""Patterns of layers of released models, by name: which layers have which positions."""

from posenc_jax.encodings.interface.method import Method, Use

_OF_A_PATTERN = "golden values and audit are those of the first layer"


def _pattern(name: str, spec: str, paper: str, link: str, windows: str, use: Use = "W") -> Method:
    """A row for layers of different positions; ``windows``: what the layers see, which is the model's."""
    return Method("layers", name, spec, paper, link, f"{windows}; {_OF_A_PATTERN}", use=use)


_OLMO_3 = "yarn(factor=8, original_length=8192)"
_COMPRESSED = "mla_rope(base=160000.0, scaling=yarn(factor=16, original_length=65536, attention_factor=1.0))"

# Windows are written as for `Transformer.windows`; 0 is no window.
PATTERNS = (
    _pattern(
        "RNoPE with windows",
        "rope/rope/rope/nope",
        "Yang et al. 2025",
        "arXiv:2501.18795",
        "model.windows = (4096, 4096, 4096, 0): layers with RoPE see 4096 places, those without see all",
    ),
    _pattern(
        "Layers of SmolLM3",
        "rope(base=5e6, layout='half')/rope(base=5e6, layout='half')/rope(base=5e6, layout='half')/nope",
        "Hugging Face 2025",
        "https://huggingface.co/blog/smollm3",
        "all layers see all keys",
    ),
    _pattern(
        "iRoPE, layers of Llama 4",
        "rope(base=5e5)/rope(base=5e5)/rope(base=5e5)/query_temperature(floor=8)",
        "Meta 2025",
        "https://github.com/meta-llama/llama-models",
        "layers with RoPE see their chunk of 8192 places, those without see all; floor is 8192 there",
    ),
    _pattern(
        "Two bases, layers of Gemma 3",
        "/".join([*["rope(layout='half')"] * 5, "rope(base=1e6, layout='half')"]),
        "Gemma team 2025",
        "arXiv:2503.19786",
        "model.windows = (512, 512, 512, 512, 512, 0) in Gemma 3 1B, 1024 in larger ones, whose last layer of six also "
        "has scaling=linear(factor=8)",
    ),
    _pattern(
        "Two rotations, layers of Gemma 4",
        "/".join([*["rope(layout='half')"] * 5, "rope(base=1e6, layout='half', scaling=p_rope(fraction=0.25))"]),
        "Gemma team 2026",
        "arXiv:2607.02770",
        "model.windows = (1024, 1024, 1024, 1024, 1024, 0); heads of the layers that see all are twice as wide",
    ),
    _pattern(
        "Two bases, layers of ModernBERT",
        "rope(base=160000.0, layout='half')/rope(layout='half')/rope(layout='half')",
        "Warner et al. 2024",
        "arXiv:2412.13663",
        "model.windows = (0, 65, 65): 64 places to either side, in two layers of three",
    ),
    _pattern(
        "Scaled where all is seen, layers of OLMo 3",
        "/".join([*["rope(base=5e5, layout='half')"] * 3, f"rope(base=5e5, layout='half', scaling={_OLMO_3})"]),
        "OLMo team 2025",
        "arXiv:2512.13961",
        "model.windows = (4096, 4096, 4096, 0)",
    ),
    _pattern(
        "Layers of EXAONE 4.0",
        "/".join([*["rope(base=1e6, layout='half', scaling=llama3(factor=16))"] * 3, "nope"]),
        "LG AI Research 2025",
        "arXiv:2507.11407",
        "model.windows = (4096, 4096, 4096, 0) in EXAONE 4.0 32B",
    ),
    _pattern(
        "Layers of Trinity",
        "/".join([*["rope(layout='half')"] * 3, "nope"]),
        "Arcee AI 2025",
        "https://huggingface.co/arcee-ai/Trinity-Mini",
        "model.windows = (1024, 1024, 1024, 0), where its config gives no other",
    ),
    _pattern(
        "Attention layers of Ling 3.0",
        "mla_rope(base=6e6)",
        "Inclusion AI 2026",
        "https://huggingface.co/inclusionAI/Ling-3.0-Flash",
        "the last of six layers attends, to all keys, and the others are recurrent; 64 of 192 dimensions turn there",
    ),
    _pattern("Attention layers of Nemotron-H", "nope", "NVIDIA 2025", "arXiv:2504.03624", "others are recurrent"),
    _pattern(
        "Layers of Inkling 2",
        "/".join(["inkling(clip=8.0, floor=128000)", *["inkling(extent=512, clip=8.0)"] * 5]),
        "Thinking Machines Lab 2026",
        "https://huggingface.co/thinkingmachines/Inkling",
        "model.windows = (0, 512, 512, 512, 512, 512)",
    ),
    _pattern(
        "SWAN-GPT",
        "nope/rope/rope/rope",
        "Puvvada et al. 2025",
        "arXiv:2504.08719",
        "model.windows = (0, 512, 512, 512): a layer that sees all comes first",
        use="p",
    ),
    _pattern(
        "Two bases, layers of DeepSeek-V4",
        f"mla_rope/mla_rope/{_COMPRESSED}/{_COMPRESSED}",
        "DeepSeek-AI 2026",
        "https://huggingface.co/deepseek-ai/DeepSeek-V4-Flash",
        "the first two layers of 43, which see 128 places, and two of the others; 64 of 512 dimensions turn there",
    ),
)
