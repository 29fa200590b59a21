"""Masks from structure: against plain loops, in every way to compute attention, and what a model sees."""

import dataclasses

import jax
import numpy as np
import pytest

from posenc_jax.attention import attend
from posenc_jax.encodings import Geometry, RoPE, Sequence
from posenc_jax.encodings.interface.structure import MaskError, OwnSection, StructureMask, check_mask
from posenc_jax.models import EncoderOnly, Slots, Transformer, build

# Title, text above all sections, then sections 1 and 2, of which the first has a subsection.
OUTLINE = np.array(
    [[(0, 0, 1, 1), (1, 0, 0, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 1), (2, 0, 0, 1), (2, 0, 1, 1), (0, 0, 0, 0)]],
    np.int32,
)
TYPES = np.array([[1, 2, 2, 2, 2, 3, 3, 0]], np.int32)
REAL = np.array([[1, 1, 1, 1, 1, 1, 1, 0]], np.int32)


@dataclasses.dataclass(frozen=True)
class TitleForAll(StructureMask):
    """A function of token types given by the user."""

    name = "title_for_all"

    def sees(self, query, key):
        return (query.types == key.types) | (key.types == 1)


def geometry(structure):
    sequence = Sequence.of_length(8, segment_ids=REAL, token_types=TYPES, outline=OUTLINE)
    return Geometry.between(sequence, sequence, num_heads=2, contiguous=True, structure=structure)


def is_prefix(path, of):
    path = [number for number in path if number]
    return path == [*of[: len(path)]]


@pytest.mark.parametrize("parents", [True, False])
@pytest.mark.parametrize("headings", [True, False])
def test_own_section_with_what_stands_above_it_and_headings(parents, headings):
    mask = np.asarray(geometry(OwnSection(parents=parents, headings=headings)).mask)[0, 0]
    for q in range(7):
        for k in range(8):
            query, key = OUTLINE[0, q].tolist(), OUTLINE[0, k].tolist()
            wanted = query[:2] == key[:2]
            wanted |= parents and is_prefix(key[:2], query[:2])
            wanted |= headings and key[2] == 0
            assert mask[q, k] == (wanted and k < 7), (q, k)
    assert not mask[7].any(), "padding"


def test_a_function_of_token_types():
    mask = np.asarray(geometry(TitleForAll()).mask)[0, 0].astype(int)
    assert mask[:7].tolist() == [
        [1, 0, 0, 0, 0, 0, 0, 0],
        *[[1, 1, 1, 1, 1, 0, 0, 0]] * 4,
        *[[1, 0, 0, 0, 0, 1, 1, 0]] * 2,
    ]


@pytest.mark.parametrize("structure", [OwnSection(headings=False), TitleForAll()])
def test_all_ways_agree_and_blocks_are_the_whole(structure):
    q, k, v = jax.random.normal(jax.random.key(0), (3, 1, 2, 8, 4))
    whole = geometry(structure)
    wanted = attend(q, k, v, (RoPE(),), ({},), whole, path="dense")
    got = attend(q, k, v, (RoPE(),), ({},), whole, path="blockwise")
    np.testing.assert_allclose(got[:, :, :7], wanted[:, :, :7], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(whole.block(slice(2, 5), slice(1, 8)).mask, whole.mask[:, :, 2:5, 1:8])


@pytest.mark.parametrize("path", ["kernel", "cudnn"])
def test_fused_ways_refuse_it(path):
    q, k, v = jax.random.normal(jax.random.key(0), (3, 1, 2, 8, 4))
    with pytest.raises(ValueError, match=f"attention = '{path}' cannot serve this call"):
        attend(q, k, v, (RoPE(),), ({},), geometry(OwnSection()), path=path)


def model(mask, kind="encoder_only"):
    config = Transformer(
        d_model=8, num_layers=1, num_heads=2, mask=mask, token_types=4 if kind == "encoder_only" else 0
    )
    key = jax.random.key(0)
    sizes = dict(vocab_size=9, num_classes=9, max_len=8, key=key, posenc_key=key)
    return build(kind, config, Slots((RoPE(),), (RoPE(),)), **sizes)


def test_a_model_passes_nothing_from_what_is_not_seen():
    """One layer: the logits of a token change with a token if and only if the mask lets it see that one."""
    tokens = np.array([[1, 2, 3, 4, 5, 6, 7, 0]], np.int32)
    structure = OwnSection(headings=False)
    built = model(structure)
    assert isinstance(built, EncoderOnly)
    call = dict(segment_ids=REAL, token_types=TYPES, outline=OUTLINE)
    run = jax.jit(lambda tokens: built(tokens, **call))
    plain = np.asarray(run(tokens))
    mask = np.asarray(geometry(structure).mask)[0, 0]
    for k in range(7):
        changed = tokens.copy()
        changed[0, k] = 8
        differs = (np.asarray(run(changed)) != plain).any(axis=-1)[0]
        np.testing.assert_array_equal(differs[:7], mask[:7, k], err_msg=str(k))


def test_what_is_refused():
    tokens = np.ones((1, 8), np.int32)
    with pytest.raises(ValueError, match=r"reads where tokens stand in a document: pass outline="):
        model(OwnSection())(tokens, token_types=TYPES)
    with pytest.raises(ValueError, match=r"mask = OwnSection\(.*\) serves encoder_only, not decoder_only: set mask to"):
        model(OwnSection(), "decoder_only")


def own(sees):
    """A mask of a user's."""
    return dataclasses.dataclass(frozen=True)(type("Own", (StructureMask,), {"name": "own", "sees": sees}))()


@pytest.mark.parametrize(
    ("sees", "message"),
    [
        (StructureMask.sees, "Own.sees is no method of its own"),
        (lambda self, query: query.types == 1, r"does not take two arguments \(too many positional arguments\)"),
        (lambda self, query, key: None, "Own.sees returns NoneType"),
        # Of the first document alone: it would be taken for that of all.
        (lambda self, query, key: (query.types == key.types)[0], r"shape \[8, 8\], .* here \[\d, 8, 8\]"),
    ],
)
def test_what_is_no_mask_is_refused_before_and_in_a_call(sees, message):
    with pytest.raises(MaskError, match=message):
        check_mask(own(sees), types=True, outline=False)
    with pytest.raises(MaskError, match=message.replace(r"\d", "1")):
        _ = geometry(own(sees)).mask


def test_a_mask_may_say_one_thing_of_a_whole_axis():
    for sees in (lambda self, query, key: True, lambda self, query, key: key.types == 1):
        check_mask(own(sees), types=True, outline=False)
        assert geometry(own(sees)).mask.shape == (1, 1, 8, 8)
    check_mask(OwnSection(), types=False, outline=True)
