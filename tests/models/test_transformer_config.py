"""Configs: what is refused, and what the named defaults are."""

import dataclasses

import jax
import pytest
from small_models import small

from posenc_jax.config import Run
from posenc_jax.data.text import Classification
from posenc_jax.encodings import Learned, PositionalEncoding, RoPE, parse
from posenc_jax.models import Slots, Transformer, model_dims
from posenc_jax.models.checks import check_model


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"d_model": 30, "num_heads": 4}, "d_model = 30 is not divisible by num_heads = 4: choose a multiple of 4"),
        ({"num_heads": 4, "num_kv_heads": 3}, "num_heads = 4 is not divisible by num_kv_heads = 3"),
        ({"num_layers": 0}, "model.num_layers = 0 must be at least 1"),
        ({"dropout": 1.0}, r"dropout = 1.0 is outside \[0, 1\)"),
        ({"norm": "prenorm"}, "'prenorm' is not one of 'pre', 'post'"),
        ({"norm": "post", "first_norm": False}, "first_norm = False with norm = 'post': .* set norm to 'pre', or fi"),
        ({"norm": "post", "parallel": "one_norm"}, "parallel = 'one_norm' with norm = 'post': .* set norm to 'pre'"),
        ({"windows": (4, -1)}, r"windows = \(4, -1\) has a negative number: 1 is a query's own place, 0 no window"),
        ({"token_types": -1}, "model.token_types = -1 must not be negative: 0 is none"),
        ({"token_types": 1, "pooling": "attention"}, "token_types = 1 leaves no section .* 0 to pool all tokens"),
    ],
)
def test_impossible_sizes_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Transformer(**fields)


def test_a_word_for_a_value_names_the_class():
    message = r"Transformer.mask = 'own_section' must be of type StructureMask: write OwnSection"
    with pytest.raises(ValueError, match=message):
        Transformer(mask="own_section")


def test_attention_is_all_you_need():
    config = Transformer.attention_is_all_you_need(num_layers=2)
    assert (config.d_model, config.num_heads, config.mlp_dim, config.num_layers) == (512, 8, None, 2)
    assert (config.norm, config.activation, config.dropout, config.tie_output) == ("post", "relu", 0.1, True)
    assert config.scale_embeddings
    assert not config.has_final_norm


@pytest.mark.parametrize(
    ("kind", "slots", "changes", "message"),
    [
        ("decoder", Slots(), {}, "kind = 'decoder' is not one of 'decoder_only'"),
        ("decoder_only", Slots(), {"pooling": "mean"}, "pooling = 'mean' serves encoder_only"),
        ("encoder_decoder", Slots(), {"token_types": 4}, "token_types = 4 serves encoder_only and decoder_only; an e"),
        ("encoder_decoder", Slots(), {"windows": (4,)}, r"windows = \(4,\) serves encoder_only and decoder_only; an"),
        ("encoder_decoder", Slots(), {"parallel": "two_norms"}, "parallel = 'two_norms' serves models of one stack"),
        ("decoder_only", Slots(), {"tie_output": True, "num_classes": 3}, "num_classes = 3 and vocab_size = 11"),
        ("encoder_decoder", Slots(cross=(Learned(),)), {}, "cross-attention has none: put it into encoder or decoder"),
        ("decoder_only", Slots(decoder=((), (Learned(),))), {}, "put it into the first tuple of the decoder slot"),
        ("encoder_only", Slots(encoder=(RoPE(),)), {"head_dim": 5}, "5"),
    ],
)
def test_models_that_cannot_be_are_refused(kind, slots, changes, message):
    with pytest.raises(ValueError, match=message):
        small(kind, slots, **changes)


def test_encodings_of_absent_stacks_are_not_looked_at():
    model = small("decoder_only", Slots(encoder=((), (Learned(),)), cross=(Learned(),)))
    assert set(model.posenc) == {"decoder"}


def test_dropout_without_key_is_refused():
    model = small("decoder_only", dropout=0.5)
    with pytest.raises(ValueError, match=r"dropout = 0\.5 in training draws masks: pass streams=Streams"):
        model(jax.numpy.zeros((1, 2), "int32"), train=True)


def test_a_pattern_longer_than_the_stack_is_refused():
    """Its tail would stand in the label and nowhere else."""
    with pytest.raises(ValueError, match="the slot has 3 tuples, one for each layer, and the decoder 2 layers"):
        small("decoder_only", Slots(decoder=parse("rope/rope/alibi")), fresh=True, num_layers=2)


class Nothing(PositionalEncoding):
    name = "nothing"

    def biass(self, params, geometry):
        return None


def test_an_encoding_without_a_hook_is_refused():
    with pytest.raises(ValueError, match=r"none of the hooks of an encoding.*did you mean bias by biass"):
        small("decoder_only", Slots(decoder=(Nothing(),)), fresh=True)


def test_undivided_logits_are_said_once():
    """T5's bias with undivided products, in a model with larger queries: the factor would be there twice."""
    config = Transformer(d_model=8, num_heads=2, num_layers=1, divide_logits=False)
    dims = model_dims(config, vocab_size=5, max_len=8)
    check_model("decoder_only", config, Slots(decoder=parse("t5")), dims, num_classes=5)
    with pytest.raises(ValueError, match=r"both take the division by sqrt\(D\) away.*keep one of them"):
        check_model("decoder_only", config, Slots(decoder=parse("t5(scaled=False)")), dims, num_classes=5)


@dataclasses.dataclass(frozen=True)
class Undivided(PositionalEncoding):
    """An encoding of one's own that takes the division away, and knows two token types."""

    name = "own_undivided"
    undivided = True
    known_token_types = 2

    def encode_queries(self, params, q, positions, length):
        return q * q.shape[-1] ** 0.5


def test_class_facts_of_an_own_encoding_are_checked_as_those_of_ours():
    config = Transformer(d_model=8, num_heads=2, num_layers=1, divide_logits=False)
    dims = model_dims(config, vocab_size=5, max_len=8)
    with pytest.raises(ValueError, match=r"both take the division by sqrt\(D\) away.*keep one of them"):
        check_model("decoder_only", config, Slots(decoder=(Undivided(),)), dims, num_classes=5)
    with pytest.raises(ValueError, match=r"Undivided\(.*\) has 2 token types, and task .* makes 4 of its sections"):
        Run(task=Classification(), posenc=(Undivided(),))
