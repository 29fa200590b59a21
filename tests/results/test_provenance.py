"""Which code computed what, as records tell it."""

import json

import pytest
import sealed_files

from posenc_jax.results import read_record, summarise

CODE = {"version": "0.1.0", "commit": "0123456789abcdef", "dirty": False, "own": {}, "seeds": [0, 1, 2, 3]}
WORDS = "posenc_jax 0.1.0, commit 0123456789ab"


@pytest.fixture
def provenance(ablation):
    """``provenance(change)``: of the synthetic ablation, each cell of whose record ``change`` has changed in place."""

    def read(change):
        info = json.loads((ablation / "ablation.json").read_text())
        for cell in info["cells"]:
            cell |= {"bit_exact": True, "changed_code": False, "code": [dict(CODE)]}
            change(cell)
        sealed_files.write(ablation / "ablation.json", info)
        return summarise(read_record(ablation)).provenance

    return read


def test_the_digest_of_the_files_tells_apart_what_a_commit_does_not(provenance):
    def change(cell):
        cell["code"][0] |= {"commit": None, "dirty": None, "source": "bb" if cell["label"] == "nope" else "aa"}

    found = provenance(change)
    assert found.differing
    assert found.codes["posenc_jax 0.1.0, commit unknown, source bb"] == ("rsc / nope",)


def test_own_code_differs_only_where_one_name_has_two_digests(provenance):
    def two_names(cell):
        cell["code"][0]["own"] = {f"own.py:{cell['label']}": "aa"}

    assert not provenance(two_names).differing

    def two_digests(cell):
        cell["code"][0]["own"] = {"own.py:Mine": "bb" if cell["label"] == "nope" else "aa"}
        cell["changed_code"] = cell["label"] == "nope"

    found = provenance(two_digests)
    assert found.differing
    assert found.own["own.py:Mine"]["bb"] == ("rsc / nope",)
    assert found.changed == ("rsc / nope",)
