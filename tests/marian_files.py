"""The three files of a tiny tokenizer of Marian: two models of SentencePiece and the list that numbers their pieces."""

import io
import json

import sentencepiece


def marian_files() -> dict[str, bytes]:
    """Files by name; </s> is 0, <unk> 1, the code ``>>fra<<`` 2, and <pad> 47, the last."""
    files = {"source.spm": _pieces(["red sun", "sun owl red"]), "target.spm": _pieces(["rote Sonne", "Eule rote"])}
    names = dict.fromkeys(["</s>", "<unk>", ">>fra<<"])
    for model in files.values():
        own = sentencepiece.SentencePieceProcessor(model_proto=model)
        names |= dict.fromkeys(own.id_to_piece(i) for i in range(3, own.vocab_size()))
    assert len(names) < 48
    names |= dict.fromkeys(f"unused{i}" for i in range(47 - len(names))) | {"<pad>": None}
    return files | {"vocab.json": json.dumps({piece: number for number, piece in enumerate(names)}).encode()}


def _pieces(lines: list[str]) -> bytes:
    model = io.BytesIO()
    train = sentencepiece.SentencePieceTrainer.train
    train(sentence_iterator=iter(lines * 9), model_writer=model, vocab_size=15, minloglevel=2, hard_vocab_limit=False)
    return model.getvalue()
