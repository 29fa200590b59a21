"""Patterns of layers of released models, by name: which layers have which positions."""

from posenc_jax.encodings.method import Method

_OF_A_PATTERN = "golden values and audit are those of the first layer"


def _pattern(name: str, spec: str, paper: str, link: str, windows: str) -> Method:
    """A row for layers of different positions; ``windows``: what the layers see, which is the model's."""
    return Method("layers", name, spec, paper, link, f"{windows}; {_OF_A_PATTERN}", use="W")


# Of models that are sized by hand windows are written as `Transformer.windows` has them, 0 being no window.
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
)
