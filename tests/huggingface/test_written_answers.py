"""A live transformers answers as the run does, from what `posenc weights export` wrote of it."""

import json

import numpy as np
import pytest
from make_huggingface_reference import CASES, sources
from marian_files import marian_files
from tiny_checkpoints import LETTERS, checkpoint_of, whole
from torch_live import run_torch

from posenc_jax.runs.importing import export_checkpoint, import_checkpoint
from posenc_jax.runs.inference import load_run, translate

_GENERATE = """
import json, pathlib, sys
import torch
try:
    import transformers
except ImportError:
    sys.exit(0)
folder, given = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager").eval()
model.generation_config.forced_eos_token_id = None  # Marian's class ends an answer that is cut off
call = dict(max_new_tokens=20, do_sample=False, use_cache=False)
rows = [model.generate(torch.tensor([row]), **call)[0, 1:].tolist() for row in given]
(folder / "answers.json").write_text(json.dumps(rows))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t5", "t5_1_1", "umt5", "marian"])
def test_greedy_answers_of_a_run(tmp_path, name):
    """With two tokens that no answer has; texts of several lengths."""
    source = whole(tmp_path / "hf", name)
    ids = {"decoder_start_token_id": 0, "pad_token_id": 0}
    ids |= {key: value for key, value in CASES[name].items() if key.endswith("_token_id")}
    generation = ids | {"bad_words_ids": [[32], [47]]}
    (source / "generation_config.json").write_text(json.dumps(generation))
    eos = import_checkpoint(source, tmp_path / "run").task.ids.eos
    export_checkpoint(tmp_path / "run", tmp_path / "again")
    rows = [row[row != eos][:size].tolist() for row, size in zip(sources(), (21, 9, 3), strict=True)]
    run_torch(_GENERATE, str(tmp_path / "again"), json.dumps([[*row, eos] for row in rows]))
    if not (tmp_path / "again" / "answers.json").is_file():
        pytest.skip("the Python with torch has no transformers, whose answers this compares: install it there")
    wanted = json.loads((tmp_path / "again" / "answers.json").read_text())
    assert not {32, 47} & set(np.concatenate(wanted))
    texts = ["".join(LETTERS[token - 3] for token in row) for row in rows]
    found = translate(load_run(tmp_path / "run"), texts, max_new_tokens=20)
    tokenizer = load_run(tmp_path / "run").tokenizer
    assert [output.text for output in found] == [tokenizer.decode(row) for row in wanted]
    assert [output.finished for output in found] == [eos in row for row in wanted]


_TRANSLATE = """
import json, pathlib, sys
try:
    import transformers
except ImportError:
    sys.exit(0)
folder, texts = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
words = transformers.MarianTokenizer.from_pretrained(folder)
model = transformers.MarianMTModel.from_pretrained(folder, attn_implementation="eager").eval()
found = []
for text in texts:
    given = words(text, return_tensors="pt")
    answer = model.generate(**given, max_new_tokens=8, do_sample=False, use_cache=False)[0]
    found.append([given["input_ids"][0].tolist(), words.decode(answer, skip_special_tokens=True)])
(folder / "answers.json").write_text(json.dumps(found))
"""


@pytest.mark.slow
def test_texts_by_marians_own_files(tmp_path):
    """Codes of languages, pieces that are in no list, spaces."""
    source = checkpoint_of("marian", tmp_path / "hf")
    for name, data in marian_files().items():
        (source / name).write_bytes(data)
    (source / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "fr"}')
    ids = {"eos_token_id": 0, "pad_token_id": 47, "decoder_start_token_id": 47, "bad_words_ids": [[47]]}
    (source / "generation_config.json").write_text(json.dumps(ids))
    texts = ["red owl", ">>fra<< sun owl red", "zzz  red", "red << sun >>fra<<"]
    run_torch(_TRANSLATE, str(source), json.dumps(texts))
    if not (source / "answers.json").is_file():
        pytest.skip("the Python with torch has no transformers, whose answers this compares: install it there")
    wanted = json.loads((source / "answers.json").read_text())
    import_checkpoint(source, tmp_path / "run")
    loaded = load_run(tmp_path / "run")
    assert [[*loaded.tokenizer.encode(text), 0] for text in texts] == [tokens for tokens, _ in wanted]
    assert [output.text for output in translate(loaded, texts, max_new_tokens=8)] == [text for _, text in wanted]
