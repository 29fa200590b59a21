"""GGUF files of the llama architecture: as in safetensors, in every kind of block; hostile ones are refused."""

import io
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from make_huggingface_reference import CASES, tensor
from tiny_checkpoints import REFERENCE

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.huggingface.declared import from_hf
from posenc_jax.huggingface.gguf import config_of, read_gguf, tensors_of
from posenc_jax.huggingface.safetensors import read_header
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


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, list) and isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    if isinstance(value, list) and isinstance(value[0], float):
        return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
    if isinstance(value, list):
        return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    return struct.pack("<II", 4, value)


def _blocks(array: np.ndarray, kind: int) -> tuple[bytes, np.ndarray]:
    """Bytes of a tensor, and the values that they stand for."""
    if kind == 0:
        return array.astype("<f4").tobytes(), array
    if kind == 1:
        return array.astype("<f2").tobytes(), array.astype("<f2").astype(np.float32)
    blocks = array.reshape(-1, 32)
    out, values = b"", []
    for block in blocks:
        if kind == 8:
            scale = np.float16(np.abs(block).max() / 127)
            codes = np.clip(np.round(block / np.float32(scale)), -127, 127).astype(np.int8)
            out += scale.tobytes() + codes.tobytes()
            values.append(codes.astype(np.float32) * np.float32(scale))
            continue
        least = np.float16(block.min() if kind == 3 else 0)
        scale = np.float16((block.max() - block.min()) / 15 if kind == 3 else np.abs(block).max() / 7)
        codes = np.round((block - np.float32(least)) / np.float32(scale)) + (8 if kind == 2 else 0)
        codes = np.clip(codes, 0, 15).astype(np.uint8)
        out += scale.tobytes() + (least.tobytes() if kind == 3 else b"") + (codes[:16] | codes[16:] << 4).tobytes()
        values.append((codes.astype(np.float32) - (8 if kind == 2 else 0)) * np.float32(scale) + np.float32(least))
    return out, np.array(values, np.float32).reshape(array.shape)


def gguf(path: Path, kinds=(0,), divisors=None, **changes) -> dict[str, np.ndarray]:
    """Writes a model with tensors of these kinds in turn, and gives Hugging Face's tensors that it stands for."""
    shapes = json.loads(bytes(REFERENCE["llama/shapes"]))
    fields = {
        "general.architecture": "llama",
        "llama.block_count": CONFIG["num_hidden_layers"],
        "llama.context_length": CONFIG["max_position_embeddings"],
        "llama.embedding_length": CONFIG["hidden_size"],
        "llama.feed_forward_length": 64,
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
    fields = {name: value for name, value in fields.items() if value is not None}
    infos, data, meant = [], b"", {}
    for number, (name, shape) in enumerate(shapes.items()):
        shape = [64 if size == 40 else size for size in shape]  # whole blocks
        array, kind = tensor(name, tuple(shape)), kinds[number % len(kinds)] if len(shape) == 2 else 0
        heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}
        stored, count = array, next((CONFIG[heads[part]] for part in heads if part in name), 0)
        if count:
            stored = array.reshape(count, 2, -1, shape[1]).swapaxes(1, 2).reshape(shape)
        block, values = _blocks(stored, kind)
        meant[name] = values.reshape(count, -1, 2, shape[1]).swapaxes(1, 2).reshape(shape) if count else values
        theirs = name
        for long, short in NAMES.items():
            theirs = theirs.replace(long, short)
        theirs = theirs.replace("model.layers.", "blk.")
        infos.append(_text(theirs) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1]))
        infos[-1] += struct.pack("<IQ", kind, len(data))
        data += block + b"\0" * (-len(block) % 32)
    if divisors is not None:
        infos.append(_text("rope_freqs.weight") + struct.pack("<IQIQ", 1, len(divisors), 0, len(data)))
        data += divisors.astype("<f4").tobytes()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(fields))
    head += b"".join(_text(key) + _value(value) for key, value in fields.items()) + b"".join(infos)
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
    return meant


def test_all_kinds_of_blocks_and_the_rows_of_q_and_k(tmp_path):
    meant = gguf(tmp_path / "m.gguf", kinds=(0, 1, 2, 3, 8))
    found = read_gguf(tmp_path / "m.gguf")
    tensors = tensors_of(found, config_of(found))
    assert {stored.dtype for stored in tensors.values()} == {"F32", "F16", "Q4_0", "Q4_1", "Q8_0"}
    assert tensors.keys() == meant.keys()
    for name, stored in tensors.items():
        np.testing.assert_array_equal(stored.read(), meant[name], err_msg=name)
    assert np.abs(meant["model.layers.0.mlp.up_proj.weight"]).max() > 0.1


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


def test_hostile_files(tmp_path):
    path = tmp_path / "m.gguf"
    gguf(path)
    whole = path.read_bytes()

    def refused(match: str) -> None:
        with pytest.raises(DataError, match=match) as error:
            load(path)
        assert "\n" not in str(error.value)

    for end in (0, 3, 20, 200, 1500, len(whole) - 33):
        path.write_bytes(whole[:end])
        refused("no whole GGUF file")
    path.write_bytes(whole[:8] + b"\xff" * 8 + whole[16:])
    refused("claims 18,446,744,073,709,551,615 entries")
    rng, said = np.random.default_rng(0), []
    for _ in range(60):  # whatever stands there, it is one error or a model
        damaged = bytearray(whole)
        for at in rng.integers(0, 3000, 4):
            damaged[at] = rng.integers(256)
        path.write_bytes(bytes(damaged))
        try:
            load(path)
        except DataError as error:
            said.append(str(error))
    assert said
    assert "\n" not in "".join(said)
    path.write_bytes(whole.replace(b"output_norm.weight", b"output\n\x1b[31.weight"))
    refused(r"the name 'output\\n\\x1b\[31\.weight', which is not printable")
    at = whole.index(b"token_embd.weight") + 17
    path.write_bytes(whole[:at] + bytes(4) + whole[at + 4 + 16 :] + bytes(32))  # a number for a matrix
    refused("a tensor has 0 axes")
    gguf(path, **{"general.architecture": "mamba"})
    refused("architecture 'mamba', and GGUF is read of 'llama' alone")
    gguf(path, **{"tokenizer.ggml.model": "t5"})
    refused("vocabulary of the kind 't5'")
    gguf(path, **{"tokenizer.ggml.pre": ["smollm"]})
    refused(r"vocabulary of the kind 'gpt2', \['smollm'\]")
    gguf(path, **{"tokenizer.ggml.model": "llama"})
    refused("has no whole vocabulary")
    gguf(path, **{"tokenizer.ggml.tokens": ["<s>", *(f"x{i}" for i in range(46)), "a" * 513]})
    refused("has a token of 513 characters, and 512 are the most")
    gguf(path, **{"llama.embedding_length": 64})
    refused(r"embed_tokens.weight has shape \[48, 32\], and its config says \[48, 64\]")


def test_quantisations_that_are_not_read(tmp_path):
    path = tmp_path / "m.gguf"
    gguf(path, kinds=(8,))
    content = path.read_bytes()
    at = content.index(b"token_embd.weight") + 17 + 4 + 16
    path.write_bytes(content[:at] + struct.pack("<I", 12) + content[at + 4 :])
    with pytest.raises(DataError, match=r"token_embd\.weight is quantised as Q4_K, and F32, F16, Q4_0, Q4_1, Q8_0 are"):
        load(path)


@pytest.mark.skipif("SMOLLM2_GGUF" not in os.environ, reason="SMOLLM2_GGUF names no SmolLM2-135M-Instruct.Q4_1.gguf")
@pytest.mark.slow
def test_smollm2_goes_on_as_transformers_does():
    from posenc_jax.models import greedy

    found = load(os.environ["SMOLLM2_GGUF"])
    ids = np.array([found.tokenizer.encode("Gravity is")])
    written = greedy(found.build(), ids, max_new_tokens=20)
    wanted = (
        " a fundamental concept in physics that describes the curvature of spacetime caused by the presence of matter"
    )
    assert found.tokenizer.decode(np.asarray(written)[0]).startswith(wanted)


def test_names_in_safetensors_are_one_line(tmp_path):
    header = json.dumps({"a\nb": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}).encode()
    (tmp_path / "m").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(DataError, match=r"the name 'a\\nb', which is not printable"):
        read_header(tmp_path / "m")
