"""Order matters: "John loves Mary" is "Mary loves John" to an encoder without positions, and to no encoding."""

import jax
import numpy as np
import pytest
from registry_slots import slots_of_tasks
from small_models import jitted, small

from posenc_jax.encodings import Grid, elements, parse
from posenc_jax.models import Slots, Streams

pytestmark = pytest.mark.usefixtures("float64")

# No word is a token that ends a segment (1, 2) in the slots of the registry; all are digits of Abacus (1 .. 10).
WORDS = ("<s>", ".", "?", "john", "loves", "mary", "the", "cat", "sat", "on", "mat")
NAMES, MIRROR, ANIMALS = "<s> john loves mary", "john loves mary", "the cat sat on the mat"

# Outputs are of order 1 and float64 rounds them at 1e-14. The least that an encoding does to these sentences is 2e-5
# (M-RoPE: columns turn its slowest angles, by 3e-5 a token), the next least 7e-4 (KERPLE): nothing lies in between.
EQUAL, VISIBLE = 1e-12, 1e-6

BY_DEFAULT = {"sinusoidal", "rope", "t5", "shaw", "fox"}

DIGITS = tuple(range(3, 11))
SLOTS = slots_of_tasks() | {
    "learned": parse("learned"),
    # It scales queries by their position, which says nothing of other tokens: it stands beside RoPE, as in Llama 4.
    "query_temperature": parse("rope|query_temperature(floor=2)"),
    # They read positions off the digits of additions: to them, the words are digits.
    "position_coupling": parse(f"position_coupling(digits={DIGITS}, plus=1, equals=2)|learned"),
    "number_index": parse(
        f"position_coupling(digits={DIGITS}, plus=1, equals=2, then=0)|learned"
        f"|number_index(digits={DIGITS}, plus=1, equals=2, then=0)|learned(init_scale=0.01)"
    ),
    # In the catalogue the circle has four tokens: the fifth, the mat, stands where the first, the cat, does.
    "circle_positions": parse("circle_positions(width=4, height=2)|mrope"),
}
MARKED = [pytest.param(name, marks=() if name in BY_DEFAULT else pytest.mark.slow) for name in sorted(SLOTS)]
BLIND_ALONE = {"repo"}  # its positions are those of tokens wherever they stand: as without positions


def swapped(sentence):
    """The sentence with its two nouns in each other's place, and the permutation that does it."""
    words = sentence.split()
    first, second = (i for i, word in enumerate(words) if word in ("john", "mary", "cat", "mat"))
    order = np.arange(len(words))
    order[[first, second]] = second, first
    return " ".join(words[i] for i in order), order


def rows_of(sentences):
    """Tokens ``[2 n, 7]`` of the sentences, each followed by the swapped one, and their segment ids."""
    both = [words.split() for sentence in sentences for words in (sentence, swapped(sentence)[0])]
    tokens, real = np.zeros((2, len(both), 7), np.int32)
    for row, words in enumerate(both):
        tokens[row, : len(words)] = [WORDS.index(word) for word in words]
        real[row, : len(words)] = 1
    return tokens, real


def outputs(kind, slot, sentences, **changes):
    """``[n, 2, ...]``: of every sentence and of the swapped one. All are example 0 of one draw, and one section."""
    tokens, real = rows_of(sentences)
    model = small(kind, Slots(encoder=slot, decoder=slot), num_heads=2, **changes)
    same = {"streams": Streams(positions=jax.random.key(3)), "example_ids": np.zeros(len(tokens), np.int32)}
    found = jitted(model.__call__)(tokens, segment_ids=real, token_types=real, **same)
    return np.asarray(found).reshape(len(sentences), 2, *found.shape[1:])


def differences(slot, sentences):
    """Of an encoder, largest per sentence: of every word's output to that of the same word swapped; of their means."""
    largest = []
    for sentence, (one, other) in zip(sentences, outputs("encoder_only", slot, sentences), strict=True):
        order = swapped(sentence)[1]
        one, other = one[: len(order)], other[order]
        largest.append((np.abs(one - other).max(), np.abs(one.mean(0) - other.mean(0)).max()))
    return largest


def at_the_end(slot, **changes):
    """Of a decoder, the largest difference at the full stop, which both sentences end with."""
    sentences = [f"{MIRROR} .", f"{ANIMALS} ."]
    found = outputs("decoder_only", slot, sentences, **changes)
    return [np.abs(np.subtract(*found[i, :, len(s.split()) - 1])).max() for i, s in enumerate(sentences)]


def test_an_encoder_without_positions_does_not_see_order():
    sentences = [NAMES, MIRROR, ANIMALS]
    assert np.max(differences((), sentences)) < EQUAL
    pooled = outputs("encoder_only", (), sentences, pooling="mean")
    np.testing.assert_allclose(pooled[:, 0], pooled[:, 1], rtol=0, atol=EQUAL)
    assert np.abs(pooled[0] - pooled[2]).max() > VISIBLE  # other words, other outputs


@pytest.mark.parametrize("name", MARKED)
def test_every_encoding_sees_order(name):
    """One that needs a causal mask stands in a decoder of one layer, whose last output is blind without it (below)."""
    if name in BLIND_ALONE:
        assert max(at_the_end(SLOTS[name], num_layers=1)) < EQUAL
        assert min(at_the_end(SLOTS[name], num_layers=2)) > VISIBLE
        return
    if any(element.causal_only for element in elements(SLOTS[name])):
        assert min(at_the_end(SLOTS[name], num_layers=1)) > VISIBLE
        return
    names, mirror, animals = differences(SLOTS[name], [NAMES, MIRROR, ANIMALS])
    assert min(*names, *animals) > VISIBLE
    # Mirroring keeps all distances, also on a grid, of which these sentences are within one row.
    if all(element.unsigned or isinstance(element, Grid) for element in elements(SLOTS[name])):
        assert max(mirror) < EQUAL
    else:
        assert min(mirror) > VISIBLE


def test_a_decoder_without_positions_sees_order_from_its_second_layer_on():
    """Haviv et al. 2022, arXiv:2203.16634: the causal mask tells how many tokens came before.

    In the first layer a token averages over itself and all before it, in any order: the last outputs are equal. Those
    averages differ from place to place, as the first token sees itself only; the second layer reads them.
    """
    assert max(at_the_end((), num_layers=1)) < EQUAL
    assert min(at_the_end((), num_layers=2)) > VISIBLE
