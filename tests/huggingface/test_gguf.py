"""GGUF files of the llama architecture: as in safetensors, in every kind of block; damaged ones are refused."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from gguf import GGML_QUANT_SIZES, GGUFWriter
from gguf import GGMLQuantizationType as Q
from gguf.quants import dequantize, quantize
from make_huggingface_reference import CASES, tensor
from tiny_checkpoints import REFERENCE

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.huggingface.declared import from_hf
from posenc_jax.huggingface.gguf import config_of, read_gguf, tensors_of
from posenc_jax.huggingface.tokenizer import of_gguf

CONFIG = CASES["llama"] | {"rope_scaling": None}
NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf(path: Path, kinds=(Q.F32,), times=1, divisors=None, **changes) -> dict:
    """Writes a model with matrices of these kinds in turn, ``times`` as wide as the case, and gives Hugging Face's
    tensors that it stands for.
    """
    shapes = json.loads(bytes(REFERENCE["llama/shapes"]))
    fields = {
        "llama.block_count": CONFIG["num_hidden_layers"],
        "llama.context_length": CONFIG["max_position_embeddings"],
        "llama.embedding_length": CONFIG["hidden_size"] * times,
        "llama.feed_forward_length": 64 * times,
        "llama.attention.head_count": CONFIG["num_attention_heads"],
        "llama.attention.head_count_kv": CONFIG["num_key_value_heads"],
        "llama.rope.freq_base": CONFIG["rope_theta"],
        "llama.attention.layer_norm_rms_epsilon": CONFIG["rms_norm_eps"],
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": ["<s>", *(chr(97 + i) for i in range(26)), "ab", *(f"x{i}" for i in range(20))],
        "tokenizer.ggml.token_type": [3] + [1] * 47,
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.bos_token_id": 0,
    } | changes
    writer = GGUFWriter(path, fields.pop("general.architecture", "llama"))
    add = {str: writer.add_string, bool: writer.add_bool, float: writer.add_float32, list: writer.add_array}
    for key, value in fields.items():
        if value is not None:
            add.get(type(value), writer.add_uint32)(key, value)
    meant = {}
    for number, (name, shape) in enumerate(shapes.items()):
        wide = {40: 64 * times, 48: 48}  # whole blocks, and the vocabulary
        shape = tuple(wide.get(size, size * times) for size in shape)
        kind = kinds[number % len(kinds)] if len(shape) == 2 else Q.F32
        stored = drawn(shape, kind) if kind in DRAWN else quantize(in_turn(name, tensor(name, shape)), kind)
        meant[name] = in_turn(name, dequantize(stored, kind), back=True)
        writer.add_tensor(theirs(name), stored, raw_dtype=kind)
    if divisors is not None:
        writer.add_tensor("rope_freqs.weight", divisors.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return meant


DRAWN = {Q.Q4_K: slice(0, 4), Q.Q6_K: slice(208, 210)}  # which the library reads, and does not write: their scales


def drawn(shape: tuple[int, ...], kind: Q) -> np.ndarray:
    """Blocks of any bytes but for small scales."""
    weights, size = GGML_QUANT_SIZES[kind]
    blocks = np.random.default_rng(0).integers(0, 256, (*shape[:-1], shape[-1] // weights, size), np.uint8)
    scales = blocks[..., DRAWN[kind]]
    scales[:] = np.full(scales.shape[-1] // 2, 1e-3, np.float16).view(np.uint8)
    return blocks.reshape(*shape[:-1], -1)


def theirs(name: str) -> str:
    for long, short in NAMES.items():
        name = name.replace(long, short)
    return name.replace("model.layers.", "blk.")


def in_turn(name: str, array: np.ndarray, back: bool = False) -> np.ndarray:
    """Rows of q and k with those of a plane beside each other, as GGUF files have them; or ``back``."""
    heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}
    count = next((CONFIG[heads[part]] for part in heads if part in name), 0)
    if not count:
        return array
    halves = array.reshape(count, -1, 2, array.shape[1]) if back else array.reshape(count, 2, -1, array.shape[1])
    return halves.swapaxes(1, 2).reshape(array.shape)


def test_all_kinds_of_blocks_and_the_rows_of_q_and_k(tmp_path):
    kinds = (Q.F32, Q.F16, Q.BF16, Q.Q4_0, Q.Q4_1, Q.Q5_0, Q.Q8_0)
    meant = gguf(tmp_path / "m.gguf", kinds=kinds)
    found = read_gguf(tmp_path / "m.gguf")
    tensors = tensors_of(found, config_of(found))
    assert {stored.dtype for stored in tensors.values()} == {kind.name for kind in kinds}
    assert tensors.keys() == meant.keys()
    for name, stored in tensors.items():
        np.testing.assert_array_equal(stored.read(), meant[name], err_msg=name)
        # Four bits of the largest weight of a block.
        np.testing.assert_allclose(meant[name], tensor(name, stored.shape), atol=np.abs(meant[name]).max() / 7)
    assert np.abs(meant["model.layers.0.mlp.up_proj.weight"]).max() > 0.1


def test_the_usual_file_of_four_bits(tmp_path):
    """Q4_K_M: most matrices in Q4_K, some in Q6_K, norms in F32."""
    meant = gguf(tmp_path / "m.gguf", kinds=(Q.Q6_K, Q.Q4_K, Q.Q4_K), times=8)
    found = load(tmp_path / "m.gguf")
    assert {stored.dtype for stored in found.tensors.values()} == {"Q4_K", "Q6_K", "F32"}
    for name, stored in found.tensors.items():
        np.testing.assert_array_equal(stored.read(), meant[name], err_msg=name)
    assert found.params()["decoder"]


def test_a_model_and_its_tokenizer(tmp_path):
    gguf(tmp_path / "m.gguf")
    found = load(tmp_path / "m.gguf")
    assert found.model.norm_epsilon == CONFIG["rms_norm_eps"]
    assert found.slots.decoder[0].base == CONFIG["rope_theta"]
    assert found.tokenizer.encode("abba") == [27, 2, 1]
    assert found.tokenizer.decode([27, 2, 1]) == "abba"
    assert (found.tokenizer.bos, found.tokenizer.eos, found.tokenizer.vocab_size) == (0, 0, 48)


@pytest.mark.parametrize(("cut", "wanted"), [("smollm", [1, 2]), ("starcoder", [1, 2]), ("gpt-2", [4])])
def test_digits_are_cut_as_llama_cpp_cuts_them(tmp_path, cut, wanted):
    tokens = {"tokens": ["<s>", "1", "2", "x", "12"], "token_type": [3, 1, 1, 1, 1], "merges": ["1 2"], "pre": cut}
    gguf(tmp_path / "m.gguf", **{f"tokenizer.ggml.{name}": value for name, value in tokens.items()})
    found = read_gguf(tmp_path / "m.gguf")
    assert of_gguf(found, config_of(found), 5).encode("12") == wanted


def test_smollm_is_cut_as_its_own_tokenizer_json_says(tmp_path):
    gguf(tmp_path / "m.gguf")
    found = read_gguf(tmp_path / "m.gguf")
    written = json.loads(of_gguf(found, config_of(found), 48).files["tokenizer.json"])
    assert written.get("normalizer") is None
    # HuggingFaceTB/SmolLM2-135M, revision 93efa2f097d58c2a74874c7e644dbc9b0cee75a2
    assert written["pre_tokenizer"] == {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Digits", "individual_digits": True},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        ],
    }


@pytest.mark.parametrize("prefix", [True, False])
def test_scores_are_read_as_sentencepiece_reads_them(tmp_path, prefix):
    text = [
        "the cat sat on the mat and that was that",
        "   indented   by  spaces",
        "aaa aaaa aaaaa",
        "na\u00efve caf\u00e9",
    ]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        **{"sentence_iterator": iter(text * 9), "model_writer": model, "model_type": "bpe", "vocab_size": 320},
        **{"byte_fallback": True, "normalization_rule_name": "identity", "remove_extra_whitespaces": False},
        **{"add_dummy_prefix": prefix, "allow_whitespace_only_pieces": True, "minloglevel": 2},
    )
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ids = range(theirs.vocab_size())
    types = [2 if theirs.is_unknown(n) else 3 if theirs.is_control(n) else 6 if theirs.is_byte(n) else 1 for n in ids]
    fields = {"model": "llama", "tokens": [theirs.id_to_piece(n) for n in ids], "token_type": types}
    fields |= {"scores": [float(theirs.get_score(n)) for n in ids], "add_space_prefix": prefix, "bos_token_id": 1}
    gguf(tmp_path / "m.gguf", **{f"tokenizer.ggml.{name}": value for name, value in fields.items()})
    found = read_gguf(tmp_path / "m.gguf")
    ours = of_gguf(found, config_of(found), len(ids))
    for line in [*text, "", " ", "  the  mat", "aaaaaaaaaaaaa", "a hat: \u732b\U0001d54f\n12", "\u2581a", "<0x41>"]:
        assert ours.encode(line) == theirs.encode(line), line
        assert ours.decode(ours.encode(line)) == line.replace("\u2581", " ")


_YARN = {"rope_type": "yarn", "factor": 2.5, "original_max_position_embeddings": 64}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"scaling.type": "linear", "scaling.factor": 2.5}, {"rope_type": "linear", "factor": 2.5}),
        ({"scaling.factor": 2.5}, {"rope_type": "linear", "factor": 2.5}),
        ({"scale_linear": 1.1}, {"rope_type": "linear", "factor": 1.1}),
        ({"scaling.type": "none", "scaling.factor": 2.5}, None),
        ({"scaling.type": "linear", "scaling.factor": 0.0, "scaling.finetuned": False}, None),
        ({"scaling.type": "yarn", "scaling.factor": 2.5, "scaling.original_context_length": 64}, _YARN),
    ],
)
def test_scaling_is_that_of_the_same_config(tmp_path, fields, wanted):
    gguf(tmp_path / "m.gguf", **{f"llama.rope.{name}": value for name, value in fields.items()})
    assert load(tmp_path / "m.gguf").slots.decoder == from_hf(CONFIG | {"rope_scaling": wanted}).slot


def test_a_tensor_of_factors_divides_the_frequencies(tmp_path):
    rule = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    rule["original_max_position_embeddings"] = 64
    plain, scaled = (
        from_hf(CONFIG | {"rope_scaling": scaling}).layers[0].inverse_frequencies() for scaling in (None, rule)
    )
    divisors = (plain / scaled).astype(np.float32)
    assert divisors.min() == 1
    assert divisors.max() == 8
    gguf(tmp_path / "m.gguf", divisors=divisors)
    found = load(tmp_path / "m.gguf")
    layer = from_hf(found.config).layers[0]
    assert layer.encodings == found.slots.decoder
    for length in (1, 100_000):
        np.testing.assert_allclose(layer.inverse_frequencies(length), plain / divisors.astype(float), rtol=1e-15)
    np.testing.assert_allclose(layer.inverse_frequencies(), scaled, rtol=2**-24)  # the factors are float32
    assert (layer.attention_factor, layer.switches_above) == (1, None)


@pytest.mark.parametrize(
    ("fields", "divisors", "message"),
    [
        ({"scaling.type": "longrope", "scaling.factor": 2.0}, None, "has the scaling 'longrope' of positions"),
        ({"scaling.attn_factor": 1.2}, None, "has llama.rope.scaling.attn_factor"),
        ({"attention.sliding_window": 8}, None, "has llama.attention.sliding_window"),
        ({"scaling.factor": 2.0}, 4, "has rope_freqs.weight beside a factor of 2.0"),
        ({}, 3, r"has rope_freqs.weight of shape \[3\]"),
    ],
)
def test_other_scaling_is_refused(tmp_path, fields, divisors, message):
    fields = {f"llama.rope.{name}".replace("rope.attention", "attention"): value for name, value in fields.items()}
    gguf(tmp_path / "m.gguf", divisors=None if divisors is None else np.ones(divisors), **fields)
    with pytest.raises(DataError, match=message + ", which is not read in GGUF: name the model's directory"):
        load(tmp_path / "m.gguf")


TOKENS = "tokenizer.ggml.tokens"
MANY = {TOKENS: [f"x{i}" for i in range(49)], "tokenizer.ggml.token_type": [1] * 49}
WIDE = {"llama.embedding_length": 64}
REFUSED = {
    "another architecture": ({"general.architecture": "mamba"}, "architecture 'mamba', and GGUF is read of 'llama' al"),
    "another vocabulary": ({"tokenizer.ggml.model": "t5"}, "vocabulary of the kind 't5'"),
    "no scores": ({"tokenizer.ggml.model": "llama"}, "has no whole vocabulary"),
    "merges of other tokens": ({"tokenizer.ggml.merges": ["a b", "a zz"]}, "has no whole vocabulary"),
    "more tokens than rows": (MANY, "has no whole vocabulary, or that of another model: fetch it again"),
    "a long token": ({TOKENS: [*(f"x{i}" for i in range(47)), "a" * 513]}, "has no whole vocabulary"),
    "another width": (WIDE, r"embed_tokens.weight has shape \[48, 32\], and its config says \[48, 64\]"),
    "no depth": ({"llama.block_count": None}, "lacks llama.block_count: fetch it again, or name another"),
    "a part rotates": ({"llama.rope.dimension_count": 4}, "rotates 4 of 8 dimensions: not read in GGUF"),
    "heads": ({"llama.attention.head_count": 3}, r"attn_q.weight of shape \[32, 32\] does not hold 3 heads"),
    "a shard": ({"split.count": 3}, "is one of the 3 files of a split model: join them first, by llama-gguf-split"),
}


@pytest.mark.parametrize(("changes", "match"), REFUSED.values(), ids=REFUSED)
def test_files_of_other_models(tmp_path, changes, match):
    gguf(tmp_path / "m.gguf", **changes)
    refused(tmp_path / "m.gguf", match)


def refused(path: Path, match: str) -> None:
    with pytest.raises(DataError, match=match) as error:
        load(path)
    assert "\n" not in str(error.value)


def at(name: str, field: int, value: int, width: int):
    """A change of one of the numbers behind a tensor's name: axes, two sizes, kind, offset."""

    def change(whole: bytes) -> bytes:
        place = whole.index(name.encode()) + len(name) + (0, 4, 12, 20, 24)[field]
        return whole[:place] + value.to_bytes(width, "little") + whole[place + width :]

    return change


NAME = "token_embd.weight"
CONTROL = (b"output_norm.weight", b"output\n\x1b[31.weight")
DAMAGED = {
    "nothing": (lambda whole: b"", "is no whole GGUF file"),
    "another magic": (lambda whole: b"GGML" + whole[4:], r"is no whole GGUF file \(GGUF magic invalid\)"),
    "200 bytes": (lambda whole: whole[:200], "is no whole GGUF file"),
    "the last bytes": (lambda whole: whole[:-33], "is no whole GGUF file"),
    "entries without end": (lambda whole: whole[:8] + b"\xff" * 8 + whole[16:], "is no whole GGUF file"),
    "a name to command a terminal": (lambda whole: whole.replace(*CONTROL), r"the name 'output\\n\\x1b.*not printable"),
    "another kind": (at(NAME, 3, 26, 4), r"is quantised in a way that is not read \(.*I32.*\): name an"),
}


@pytest.mark.parametrize(("change", "match"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_files(tmp_path, change, match):
    path = tmp_path / "m.gguf"
    gguf(path)
    path.write_bytes(change(path.read_bytes()))
    refused(path, match)
