"""Encoder-decoders whose sides differ: in depth, in their tables, in the size of their vocabularies."""

import jax
import numpy as np
import pytest
from small_models import VOCAB, LayerBias, jitted, random_tokens, small

from posenc_jax.encodings import RoPE
from posenc_jax.models import Slots
from posenc_jax.training.leaf_names import names

SIDES = {"num_encoder_layers": 3, "num_decoder_layers": 1}
OWN = {"tie_embeddings": False, "num_classes": VOCAB + 6}


def leaves(model):
    from flax import nnx

    state = nnx.to_pure_dict(nnx.state(model))
    return {"/".join(names(path)): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(state)}


def test_every_stack_has_its_depth():
    slot = (RoPE(), LayerBias())
    model = small("encoder_decoder", Slots(slot, slot, slot), fresh=True, **SIDES)
    assert [len(stack.blocks) for stack in (model.encoder, model.decoder)] == [3, 1]
    assert [len(model.posenc[stack][1]) for stack in ("encoder", "decoder", "cross")] == [3, 1, 1]
    source, target = random_tokens(2, 5), random_tokens(2, 4, seed=1)
    _, captured = model(source, target, capture=True)
    assert {stack: len(activations["layers"]) for stack, activations in captured.items()} == {
        "encoder": 3,
        "decoder": 1,
    }


def test_a_layer_more_in_the_encoder_draws_the_others_as_before():
    """And a table of the target's own changes no other parameter."""
    plain, own = (leaves(small("encoder_decoder", fresh=True, **more)) for more in ({}, {"tie_embeddings": False}))
    assert own.keys() - plain.keys() == {"target_embedding/table"}
    for name, leaf in plain.items():
        np.testing.assert_array_equal(leaf, own[name], err_msg=name)
    assert (own["target_embedding/table"] != own["embedding/table"]).mean() > 0.99
    deeper = leaves(small("encoder_decoder", fresh=True, num_encoder_layers=3))
    for name, leaf in plain.items():
        if not name.startswith("decoder"):
            np.testing.assert_array_equal(leaf, deeper[name], err_msg=name)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("tied", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_decoder_reads_and_writes_its_own_table(tied):
    model = small("encoder_decoder", tie_output=tied, **OWN)
    source, target = random_tokens(1, 5), np.array([[1, VOCAB + 3, 2]], np.int32)
    logits = np.asarray(jitted(model.__call__)(source, target))
    assert logits.shape == (1, 3, VOCAB + 6)
    table = np.asarray(model.target_embedding.table[...])
    assert table.shape == (VOCAB + 6, 16)

    def with_row(name, row, value):
        changed = small("encoder_decoder", tie_output=tied, **OWN)
        getattr(changed, name).table[...] = getattr(changed, name).table[...].at[row].set(value)
        return np.asarray(jitted(changed.__call__)(source, target))

    unread = next(token for token in range(VOCAB) if token not in source)
    np.testing.assert_array_equal(with_row("embedding", unread, 9.0), logits)  # no target reads the source's table
    changed = with_row("target_embedding", VOCAB + 3, 9.0)
    assert (changed[:, 0] == logits[:, 0])[:, : VOCAB + 3].all(), "a token that comes later changes nothing"
    assert (changed[:, 1] != logits[:, 1]).all()
    if tied:
        assert changed[0, 0, VOCAB + 3] != logits[0, 0, VOCAB + 3]
