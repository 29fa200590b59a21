"""The catalogue: every published method that is here, and the string that makes it.

A method is not always a class: partial RoPE is a field of `RoPE`, Position Interpolation a value in another, BiPE four
elements of a slot. `posenc list`, `posenc audit`, the table of the README and the golden values all read this list.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Method:
    """One row.

    Attributes:
      name: the method's name in the literature. spec: what `parse` reads, with the paper's settings where they are
        fields, sized so that it serves any model.
      paper: authors and year. link: arXiv number or another address of the definition; for a design of this project the
        file in which it is.
      note: what a reader must know beside it, or "".
    """

    name: str
    spec: str
    paper: str
    link: str
    note: str = ""


ABSOLUTE = (
    Method("Sinusoidal", "sinusoidal", "Vaswani et al. 2017", "arXiv:1706.03762"),
    Method(
        "Sinusoidal, tensor2tensor's form",
        "sinusoidal(frequencies='tensor2tensor', layout='half', odd='zero')",
        "Vaswani et al. 2018",
        "arXiv:1803.07416",
    ),
    Method("Learned absolute", "learned", "Gehring et al. 2017", "arXiv:1705.03122"),
    Method("2-D sinusoidal", "grid(width=8)|sinusoidal_axes", "Wang & Liu 2019", "arXiv:1908.11415"),
    Method(
        "3-D sinusoidal",
        "grid(width=4, height=4)|sinusoidal_axes(axes=3)",
        "tatp22 2020",
        "https://github.com/tatp22/multidim-positional-encoding",
    ),
    Method("Learned Fourier features", "grid(width=8)|learned_fourier(axes=2)", "Li et al. 2021", "arXiv:2106.02795"),
    Method(
        "FLOATER",
        "floater",
        "Liu et al. 2020",
        "arXiv:2003.09229",
        "solved position by position: slow; the authors add it to a model with sinusoidal positions",
    ),
)

ROTARY = (
    Method("RoPE", "rope", "Su et al. 2021", "arXiv:2104.09864"),
    Method("Partial RoPE", "rope(rotary_dim=0.25, layout='half')", "Black et al. 2022", "arXiv:2204.06745"),
    Method("Position Interpolation", "rope(scaling=linear(factor=8))", "Chen et al. 2023", "arXiv:2306.15595"),
    Method(
        "NTK-aware scaling",
        "rope(scaling=ntk(factor=8))",
        "bloc97 2023",
        "https://www.reddit.com/r/LocalLLaMA/comments/14lz7j5",
    ),
    Method(
        "Dynamic NTK scaling",
        "rope(scaling=dynamic_ntk(factor=2, original_length=4))",
        "emozilla 2023",
        "https://www.reddit.com/r/LocalLLaMA/comments/14mrgpr",
        "original_length is the length in training; so in all rows below",
    ),
    Method(
        "NTK-by-parts",
        "rope(scaling=ntk_by_parts(factor=8, original_length=512))",
        "Peng et al. 2023",
        "arXiv:2309.00071",
    ),
    Method("YaRN", "rope(scaling=yarn(factor=8, original_length=512))", "Peng et al. 2023", "arXiv:2309.00071"),
    Method(
        "LongRoPE",
        "rope(scaling=longrope((1, 1, 1, 1), (1, 1.2, 1.5, 2), factor=2, original_length=4))",
        "Ding et al. 2024",
        "arXiv:2402.13753",
        "two factors per rotated plane, here for head_dim 8; those of the paper are found by search",
    ),
    Method("Llama 3.1 scaling", "rope(base=5e5, scaling=llama3)", "Dubey et al. 2024", "arXiv:2407.21783"),
    Method("Resonance RoPE", "rope(scaling=resonance)", "Wang et al. 2024", "arXiv:2403.00071"),
    Method(
        "Resonance YaRN",
        "rope(scaling=resonance(yarn(factor=8, original_length=512)))",
        "Wang et al. 2024",
        "arXiv:2403.00071",
    ),
    Method("p-RoPE", "rope(scaling=p_rope(fraction=0.75))", "Barbero et al. 2024", "arXiv:2410.06205"),
    Method("HoPE", "rope(scaling=hope(original_length=64))", "Chen et al. 2024", "arXiv:2410.21216"),
    Method("FoPE", "fope(original_length=512)", "Hua et al. 2025", "arXiv:2412.17739"),
    Method("xPos", "xpos", "Sun et al. 2022", "arXiv:2212.10554"),
    Method(
        "ReRoPE",
        "log_scaling(training_length=64)|rerope(window=4)",
        "Su 2023",
        "https://kexue.fm/archives/9708",
        "a window of 512 and a training length of 4096 in the author's code",
    ),
    Method(
        "Leaky ReRoPE",
        "log_scaling(training_length=64)|rerope(window=4, factor=16)",
        "Su 2023",
        "https://kexue.fm/archives/9708",
        "a window of 512 and a training length of 4096 in the author's code",
    ),
    Method(
        "SelfExtend",
        "self_extend(group_size=2, window=4)",
        "Jin et al. 2024",
        "arXiv:2401.01325",
        "groups of 8 and a window of 1024 in the authors' code",
    ),
    Method(
        "STRING",
        "string(shift=4, window=2)",
        "An et al. 2024",
        "arXiv:2410.18745",
        "a third of the training length and a window of 128 in the paper",
    ),
    Method(
        "Log-n scaling of queries",
        "log_scaling(training_length=64)|rope",
        "Su 2021; Chiang and Cholak 2022",
        "arXiv:2202.12172",
    ),
    Method("PoPE", "pope", "Gopalakrishnan et al. 2025", "arXiv:2509.10534"),
    Method("TAPA", "tapa", "Wang et al. 2025", "arXiv:2509.12635"),
    Method("Axial 2-D RoPE", "grid(width=8)|axial_rope", "Heo et al. 2024", "arXiv:2403.13298"),
    Method("Mixed 2-D RoPE", "grid(width=8)|mixed_rope", "Heo et al. 2024", "arXiv:2403.13298"),
    Method("M-RoPE", "grid(width=4, height=4)|mrope", "Wang et al. 2024", "arXiv:2409.12191"),
    Method(
        "M-RoPE, interleaved",
        "grid(width=4, height=4)|mrope(order='interleaved')",
        "Qwen team 2025",
        "https://github.com/QwenLM/Qwen3-VL",
    ),
    Method("GRAPE-M, commuting planes", "grape_m", "Zhang et al. 2025", "arXiv:2512.07805"),
    Method("GRAPE-M, general planes", "grape_m_planes", "Zhang et al. 2025", "arXiv:2512.07805"),
    Method("GRAPE-M, contextual phase", "grape_m_context", "Zhang et al. 2025", "arXiv:2512.07805"),
    Method("GRAPE-A", "grape_a", "Zhang et al. 2025", "arXiv:2512.07805"),
    Method("GRAPE-AP", "grape_ap", "Zhang et al. 2025", "arXiv:2512.07805"),
)

ADDITIVE = (
    Method("ALiBi", "alibi", "Press et al. 2021", "arXiv:2108.12409"),
    Method("ALiBi with learned slopes", "alibi(learned=True)", "Kazemnejad et al. 2023", "arXiv:2305.19466"),
    Method("T5 bias", "t5", "Raffel et al. 2019", "arXiv:1910.10683"),
    Method("KERPLE, logarithmic", "kerple", "Chi et al. 2022", "arXiv:2205.09921"),
    Method("KERPLE, power", "kerple(kernel='power')", "Chi et al. 2022", "arXiv:2205.09921"),
    Method("KERPLE, NeMo's form", "kerple(kernel='nemo')", "Chi et al. 2022", "arXiv:2205.09921"),
    Method("Sandwich", "sandwich", "Chi et al. 2022", "arXiv:2212.10356"),
    Method("FIRE", "fire", "Li et al. 2023", "arXiv:2310.04418"),
    Method("FIRE-S", "fire(per_layer=False)", "Li et al. 2023", "arXiv:2310.04418", "one set for all layers"),
    Method("Dynamic position bias", "dynamic_bias", "Wang et al. 2021", "arXiv:2108.00154", "as in x-transformers"),
    Method(
        "Dynamic position bias of the log distance",
        "dynamic_bias(log_distance=True)",
        "Wang et al. 2021",
        "arXiv:2108.00154",
        "as in x-transformers",
    ),
    Method("Log-spaced continuous bias (Swin V2)", "grid(width=8)|log_cpb", "Liu et al. 2021", "arXiv:2111.09883"),
    Method("DAPE", "kerple|dape", "Zheng et al. 2024", "arXiv:2405.14722", "after ALiBi or FIRE as well"),
    Method("DAPE V2", "kerple|dape(kernel_size=3)", "Zheng et al. 2024", "arXiv:2410.04798"),
    Method(
        "CABLE",
        "fox",
        "Veisi et al. 2025",
        "arXiv:2503.08067",
        "FoX with gates named by their logarithms, -softplus(z) = log sigmoid(-z), as in the code of the paper's first "
        "version; that code does not divide q . k by sqrt(D)",
    ),
)

RELATIVE = (
    Method("Shaw", "shaw", "Shaw et al. 2018", "arXiv:1803.02155"),
    Method("Music Transformer", "music_transformer", "Huang et al. 2018", "arXiv:1809.04281"),
    Method("Huang's method 4", "huang", "Huang et al. 2020", "arXiv:2009.13658"),
    Method("Transformer-XL", "transformer_xl", "Dai et al. 2019", "arXiv:1901.02860"),
    Method("XLNet", "xlnet", "Yang et al. 2019", "arXiv:1906.08237"),
    Method("DeBERTa", "deberta", "He et al. 2020", "arXiv:2006.03654"),
    Method("DeBERTa, version 2 and 3", "deberta(version='v2')", "He et al. 2020", "arXiv:2006.03654"),
    Method("TUPE-A", "tupe", "Ke et al. 2020", "arXiv:2006.15595"),
    Method("TUPE-R", "tupe(relative=True)", "Ke et al. 2020", "arXiv:2006.15595"),
    Method("CoPE", "cope", "Golovneva et al. 2024", "arXiv:2405.18719", "counts attended keys; reads no positions"),
)

DATA_DEPENDENT: tuple[Method, ...] = (
    Method("Forgetting Transformer (FoX)", "fox", "Lin et al. 2025", "arXiv:2503.02130"),
    Method("FoX with RoPE", "fox|rope(base=5e5)", "Lin et al. 2025", "arXiv:2503.02130"),
    Method("PaTH", "path", "Yang et al. 2025", "arXiv:2505.16381"),
    Method(
        "PaTH-FoX",
        "fox|path",
        "Yang et al. 2025",
        "arXiv:2505.16381",
        "the authors' code divides the gates by sqrt(D) too: fox(scaled=True)",
    ),
    Method("CARoPE", "carope", "Veisi et al. 2025", "arXiv:2507.23083"),
    Method("Selective RoPE", "selective_rope", "Movahedi et al. 2025", "arXiv:2511.17388"),
    Method("Stick-breaking attention", "stick_breaking", "Tan et al. 2024", "arXiv:2410.17980"),
    Method(
        "Stick-breaking attention, the rest to the query's token",
        "stick_breaking(remainder='own')",
        "Tan et al. 2024",
        "arXiv:2410.17980",
    ),
)

POSITIONS = (
    Method("Randomized positions", "randomized|rope", "Ruoss et al. 2023", "arXiv:2305.16843"),
    Method("SHAPE", "shape|sinusoidal", "Kiyono et al. 2021", "arXiv:2109.05644"),
    Method("CAPE", "cape|sinusoidal", "Likhomanenko et al. 2021", "arXiv:2106.03143"),
    Method("Interpolated positions", "interpolated(factor=4)|rope", "Chen et al. 2023", "arXiv:2306.15595"),
    Method("PoSE", "pose(target_length=4096)|rope", "Zhu et al. 2023", "arXiv:2309.10400"),
    Method(
        "Abacus",
        "abacus(digits=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))|learned",
        "McLeish et al. 2024",
        "arXiv:2405.17399",
        "the token ids of the digits are those of the task",
    ),
    Method(
        "Position coupling",
        "position_coupling(digits=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), plus=11, equals=12)|learned",
        "Cho et al. 2024",
        "arXiv:2405.20671",
        "for additions; a summand written most significant digit first must enter a cache in one call",
    ),
    Method(
        "BiPE-RoPE",
        "within_segment(separators=(1, 2))|learned|segment_index(separators=(1, 2))|rope",
        "He et al. 2024",
        "arXiv:2401.16421",
        "the token ids of the separators are those of the tokenizer",
    ),
    Method(
        "BiPE-ALiBi",
        "within_segment(separators=(1, 2))|learned|segment_index(separators=(1, 2))"
        "|interpolated(factor=0.010416666666666666)|alibi",
        "He et al. 2024",
        "arXiv:2401.16421",
        "the authors multiply the slopes by 96",
    ),
    Method(
        "BERT's positions and segments",
        "learned|section_index|learned(4)",
        "Devlin et al. 2019",
        "arXiv:1810.04805",
        "reads token types: 4 here (padding, header, body, footer), 2 in the paper",
    ),
    Method(
        "Structured document positions",
        "sinusoidal|within_section|sinusoidal|section_index|learned",
        "Herzig et al. 2020; Devlin et al. 2019",
        "arXiv:2004.02349",
        "reads token types; of the papers are positions that start anew in every cell and a vector per segment, their "
        "sum with the place in the document is our own",
    ),
)

NONE = (
    Method("NoPE", "nope", "Haviv et al. 2022", "arXiv:2203.16634"),
    Method(
        "DroPE",
        "nope",
        "Gelberg et al. 2025",
        "arXiv:2512.12167",
        "train with RoPE, drop it, and train on for a short while at the same length: "
        "posenc train CONFIG --posenc nope --init-from RUN",
    ),
)

# Not published: sinusoidal positions, and planes of RoPE, whose far offsets do not look like near ones.
_OWN = ("this project", "posenc_jax/encodings/frequency_designs.py")

DESIGNS = (
    Method(
        "Low side lobes, by base",
        "sinusoidal(frequencies=low_side_lobes(search='base'))",
        *_OWN,
        "a design of this project, not a published method: the base found by search for each d_model and length",
    ),
    Method(
        "Low side lobes, by frequencies",
        "sinusoidal(frequencies=low_side_lobes)",
        *_OWN,
        "a design of this project, not a published method: all frequencies found by search for each d_model and length",
    ),
    Method(
        "Cosine density",
        "sinusoidal(frequencies=cosine_density)",
        *_OWN,
        "a design of this project, not a published method: frequencies of irrational ratios, by a formula",
    ),
    Method(
        "RoPE with low side lobes, by frequencies",
        "rope(scaling=low_side_lobes)",
        *_OWN,
        "a design of this project, not a published method: the same numbers for the dimensions of a head",
    ),
    Method(
        "RoPE with a cosine density",
        "rope(scaling=cosine_density)",
        *_OWN,
        "a design of this project, not a published method: the same formula for the dimensions of a head",
    ),
)

# By family, in the order of tables.
CATALOGUE: dict[str, tuple[Method, ...]] = {
    "none": NONE,
    "absolute": ABSOLUTE,
    "rotary": ROTARY,
    "additive": ADDITIVE,
    "relative": RELATIVE,
    "data-dependent": DATA_DEPENDENT,
    "positions": POSITIONS,
    "designs": DESIGNS,
}
