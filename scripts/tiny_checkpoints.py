"""Checkpoints of tiny models, whose logits by transformers are known."""

import json
import string
from pathlib import Path

import jax
import numpy as np
import tokenizers
from make_huggingface_reference import CASES, VOCABULARY, tensor, tokens

from posenc_jax.huggingface.safetensors import read_header, write
from posenc_jax.models import EncoderDecoder

LETTERS = (string.ascii_lowercase + string.ascii_uppercase)[: VOCABULARY - 3]
_DATA = Path(__file__).resolve().parent.parent / "tests" / "huggingface" / "data"
REFERENCE = {
    f"{path.stem}/{key}": array for path in sorted(_DATA.glob("*.npz")) for key, array in np.load(path).items()
}


def checkpoint_of(name: str, folder: Path, **changes) -> Path:
    """A checkpoint in Hugging Face's layout, as transformers would save it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CASES[name] | changes))
    shapes = json.loads(bytes(REFERENCE[f"{name}/shapes"]))
    write_tensors(folder, {key: tensor(key, tuple(shape)) for key, shape in shapes.items()})
    return folder


def tensors_of(folder: Path) -> dict[str, np.ndarray]:
    """All tensors of a checkpoint of one file."""
    return {name: stored.read() for name, stored in read_header(folder / "model.safetensors")[0].items()}


def differing(first: Path, second: Path) -> list[str]:
    """Names of the tensors of two directories that are not in both, or not equal."""
    one, other = tensors_of(first), tensors_of(second)
    return [
        name
        for name in sorted(one | other)
        if name not in one or name not in other or not np.array_equal(one[name], other[name])
    ]


def write_tensors(folder: Path, tensors: dict[str, np.ndarray]) -> None:
    """The file of a checkpoint, with these tensors alone."""
    with (folder / "model.safetensors").open("wb") as file:
        write(file, {name: array.shape for name, array in tensors.items()}, tensors.items(), {"format": "pt"})


def whole(folder: Path, name: str = "llama", **changes) -> Path:
    """A checkpoint with a tokenizer of letters, one for each token but three."""
    path = checkpoint_of(name, folder, **changes)
    vocabulary = {"<s>": 0, "<b>": 1, "<e>": 2} | {letter: i + 3 for i, letter in enumerate(LETTERS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, [], unk_token="<s>"))
    tokenizer.decoder = tokenizers.decoders.Fuse()
    tokenizer.save(str(path / "tokenizer.json"))
    return path


def facts_of(model, count: int) -> dict:
    """What else a model reads of so many tokens: types, which are all 0, or the tokens of its decoder."""
    if isinstance(model, EncoderDecoder):
        return {"decoder_tokens": tokens()[:, ::-1][:, :count]}
    return {"token_types": np.zeros((1, count), np.int32)} if model.config.token_types else {}


call = jax.jit(lambda model, ids, facts: model(ids, **facts))


def logits(model, ids):
    """Those of a model, with the other facts that it reads."""
    return call(model, ids, facts_of(model, ids.shape[1]))


def largest_difference(found, name: str, key: str) -> float:
    """As a part of the largest logit."""
    wanted = REFERENCE[f"{name}/{key}"]
    return float(np.abs(np.asarray(found) - wanted).max() / np.abs(wanted).max())
