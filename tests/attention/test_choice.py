import dataclasses
import types
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from calls import DIMS
from registry_slots import slots_of_registry

from posenc_jax.attention import Call, attend, choose
from posenc_jax.attention.blockwise import needs_all_keys
from posenc_jax.attention.choice import capability, facts
from posenc_jax.encodings import Geometry, RoPE, Sequence, elements, parse
from posenc_jax.encodings.interface.base import PositionalEncoding

CALL = Call(batch=2, num_heads=8, num_kv_heads=4, queries=1024, keys=1024, head_dim=64, causal=True)
GPU = dataclasses.replace(CALL, backend="gpu", dtype=jnp.bfloat16)
TPU = dataclasses.replace(CALL, backend="tpu")


def chosen(spec, call, asked="auto", **changes):
    return str(choose(parse(spec), dataclasses.replace(call, **changes), asked))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.float64])
def test_on_a_cpu_it_is_the_reference_and_for_long_rows_blocks(dtype):
    """Of queries and keys: not where an encoding needs all keys of a query, and not for the steps of decoding."""
    dense = "dense: the fastest on a CPU"
    for spec in ("nope", "rope", "t5", "self_extend", "cope"):
        assert chosen(spec, CALL, dtype=dtype, queries=255, keys=255) == dense
        assert chosen(spec, CALL, dtype=dtype, queries=1023, keys=1023, causal=False) == dense
        assert chosen(spec, CALL, dtype=dtype, queries=1023, keys=1023, ordered=False) == dense
        parts = "causal: the fastest on a CPU for 1023 keys"
        assert chosen(spec, CALL, dtype=dtype, queries=1023, keys=1023) == parts
        assert chosen(spec, CALL, dtype=dtype, queries=1, keys=2**20) == dense
        blocks = "blockwise: the fastest on a CPU for 1024 keys"
        assert chosen(spec, CALL, dtype=dtype, queries=512, keys=1024) == (
            parts.replace("1023", "1024") if spec == "cope" else blocks
        )


@pytest.mark.parametrize(
    ("spec", "call", "changes", "wanted"),
    [
        ("rope", GPU, {}, "cudnn: fused; no bias"),
        ("fox|rope", GPU, {}, "kernel: fused; fox in columns of queries and keys"),
        ("rope", GPU, {"dtype": jnp.float32}, "kernel: fused; no bias"),
        ("pope", GPU, {"head_dim": 128}, "kernel: fused; no bias"),
        ("pope", GPU, {"head_dim": 256}, "dense: only 64 MiB of logits, since queries and keys of 512 dimensions are"),
        ("rope", GPU, {"segments": True}, "kernel: fused; no bias"),
        ("rope", GPU, {"segments": True, "right_padded": True}, "cudnn: fused; no bias"),
        ("rope", GPU, {"segments": True, "right_padded": True, "window": 128}, "kernel: fused; no bias"),
        ("rope", GPU, {"causal": False, "window": 128}, "kernel: fused; no bias"),
        ("rope", GPU, {"queries": 512, "first": 512}, "kernel: fused; no bias"),
        ("t5|rope", GPU, {}, "kernel: fused; t5 in a table of distances"),
        ("alibi", GPU, {}, "cudnn: fused; alibi in further dimensions"),
        ("alibi", GPU, {"causal": False}, "kernel: fused; alibi in a table of distances"),
        ("fox|kerple", TPU, {}, "kernel: fused; kerple in a table of distances, fox in columns of queries and keys"),
        ("t5", TPU, {"queries": 65536, "keys": 65536}, "blockwise: 262144 MiB of logits, since 65536 tokens are more"),
        ("rope", GPU, {"options": frozenset({"new"})}, "dense: only 64 MiB of logits, since the kernel has no new"),
        ("cope", GPU, {"keys": 8192}, "blockwise: 512 MiB of logits, since cope acts on logits or weights (content_"),
        ("fire", TPU, {}, "dense: only 64 MiB of logits, since the bias of fire is no function of the distance alone"),
        ("t5", TPU, {"contiguous": False}, "dense: only 64 MiB of logits, since the bias of t5 needs plain positions"),
        ("t5", TPU, {"contiguous": False, "packed": True, "segments": True}, "kernel: fused; t5 in a table of dista"),
        ("randomized(max_position=9)|t5", TPU, {}, "dense: only 64 MiB of logits, since the bias of t5 needs plain"),
        ("rope", GPU, {"ordered": False}, "dense: only 64 MiB of logits, since the kernel needs places that are known"),
        ("rope", TPU, {"dtype": jnp.float16}, "dense: only 64 MiB of logits, since the kernel computes in float32 or"),
        ("rope", GPU, {"return_weights": True}, "dense: the weights are wanted as an array"),
    ],
)
def test_elsewhere(spec, call, changes, wanted):
    assert chosen(spec, call, **changes).startswith(wanted)


def test_what_is_asked_for_is_chosen():
    assert chosen("cope", CALL, "blockwise") == "blockwise: asked for"
    assert chosen("rope", CALL, "kernel") == "kernel: asked for"
    assert chosen("cope", GPU, "dense", queries=2**20) == "dense: asked for"


@pytest.mark.parametrize(
    ("spec", "call", "asked", "changes", "message"),
    [
        ("rope", CALL, "cudnn", {}, "'cudnn' cannot serve this call: it runs on NVIDIA's GPUs, not on a cpu; 'bl"),
        ("rope", GPU, "cudnn", {"dtype": jnp.float32}, "it computes in bfloat16 or float16, not in float32"),
        ("rope", GPU, "cudnn", {"values_dtype": jnp.float32}, "values of .*float32.* are of another type than queries"),
        ("rope", GPU, "kernel", {"x64": True}, "the kernel counts in 32 bits, and 64-bit types are enabled"),
        ("rope", GPU, "fused", {}, "'fused' is not one of 'auto', 'dense', 'causal', 'blockwise', 'cudnn', 'k"),
        ("rope", CALL, "causal", {"causal": False}, "the call is not causal"),
        ("rope", CALL, "causal", {"ordered": False}, "its places are not known when the program is built"),
        ("conv_position", CALL, "causal", {}, "conv_position needs the keys after a query"),
        ("rope", GPU, "cudnn", {"segments": True}, "segments would be a mask over all pairs"),
        ("rope", GPU, "cudnn", {"segments": True, "right_padded": True, "window": 9}, "it takes a window or the le"),
        ("rope", GPU, "cudnn", {"window": 9, "causal": False}, "its windows look into the past only"),
        ("rope", GPU, "cudnn", {"first": 1}, "its masks are for queries and keys of the same places"),
        ("alibi", GPU, "cudnn", {"head_dim": 128}, "queries and keys of 134 dimensions are more than its 128"),
        ("t5", GPU, "cudnn", {}, "the bias of t5 is not separable"),
        ("shaw", GPU, "kernel", {}, "shaw acts on logits or weights .content_bias, value_term.; 'blockwise' serv"),
        ("rope", CALL, "blockwise", {"return_weights": True}, "'blockwise' keeps no weights to return: use 'dense'"),
    ],
)
def test_what_cannot_serve_is_refused_in_words(spec, call, asked, changes, message):
    with pytest.raises(ValueError, match=f"^attention = .*{message}"):
        chosen(spec, call, asked, **changes)


@pytest.mark.parametrize("name", slots_of_registry())
def test_dimensions_of_encoded_queries_and_keys(name):
    for e in elements(slots_of_registry()[name]):
        axes = (e.position_axes,) if isinstance(e.position_axes, int) else ()
        positions, length = np.zeros((1, 3, *axes), np.int32), np.array([3])

        def encoded(encode, heads, e=e, positions=positions, length=length):
            x = jnp.zeros((1, heads, 3, DIMS.head_dim))
            return encode(e.init(jax.random.key(0), DIMS), x, positions, length)

        for encode, heads in ((e.encode_queries, 4), (e.encode_keys, 2)):
            shape = jax.eval_shape(lambda encode=encode, heads=heads: encoded(encode, heads)).shape
            assert shape[3] == e.encoded_dim(DIMS.head_dim)


def test_facts_of_a_geometry():
    whole = facts(Geometry.of_length(4, num_heads=2, causal=True))
    said = {name for name, value in whole.items() if value}
    assert said == {"backend", "causal", "contiguous", "ordered"}
    keys = Sequence.of_length(8)
    later = Sequence(np.arange(5, 8)[None], np.array([8]), places=np.arange(5, 8)[None])
    last = Geometry.between(later, keys, num_heads=2, contiguous=True, window=3)
    assert (facts(last)["first"], facts(last)["window"]) == (5, 3)
    traced = dataclasses.replace(later, places=jnp.arange(5, 8)[None])
    apart = dataclasses.replace(keys, places=np.arange(0, 16, 2)[None])
    for changed in (Geometry.between(traced, keys), Geometry.between(later, apart)):
        assert not facts(changed)["ordered"]
    per_row = last.at(np.zeros((2, 3), np.int32), last.k_positions)
    assert not facts(per_row)["contiguous"]
    with pytest.raises(ValueError, match="window = 0 must be a whole number from 1 on: 1 is a query"):
        dataclasses.replace(last, window=0)


@pytest.mark.parametrize("way", ["cudnn", "kernel"])
def test_what_is_not_known_is_not_fused(monkeypatch, way):
    """A hook, and a field of the geometry, that were added later."""
    assert chosen("rope", GPU, way) == f"{way}: asked for"
    monkeypatch.setattr(PositionalEncoding, "HOOKS", (*PositionalEncoding.HOOKS, "sharpen"))
    monkeypatch.setattr(PositionalEncoding, "sharpen", None, raising=False)
    monkeypatch.setattr(RoPE, "sharpen", lambda self, logits: 2 * logits, raising=False)
    with pytest.raises(ValueError, match=r"cannot serve this call: rope acts on logits or weights \(sharpen\)"):
        chosen("rope", GPU, way)
    assert not RoPE().by_pairs
    assert needs_all_keys(RoPE())
    later = dataclasses.make_dataclass("Later", [("prefix", int, 0)], bases=(Geometry,), frozen=True)
    sides = {name: getattr(Geometry.of_length(4, num_heads=2), name) for name in ("queries", "keys")}
    assert [facts(later(**sides, prefix=n))["options"] for n in (0, 2)] == [set(), {"prefix"}]


def test_a_device_that_is_not_there_can_be_chosen_for():
    device = jax.sharding.AbstractDevice(device_kind="TPU v5 lite", num_cores=1, platform="tpu")
    mesh = jax.sharding.AbstractMesh((1,), ("x",), abstract_device=device)
    with jax.sharding.use_abstract_mesh(mesh):
        assert facts(Geometry.of_length(4, num_heads=2))["backend"] == "tpu"


@pytest.mark.parametrize("old", ["7.5", "gfx942"])
def test_gpus_without_the_instructions_get_the_reference(old, monkeypatch):
    """NVIDIA's from Ampere on have them; before JAX 0.12 the kernel is Triton's."""
    why = f"on NVIDIA's GPUs from Ampere on, not on a GPU of compute capability {old}"
    monkeypatch.setattr("posenc_jax.attention.choice.ON_GPU", "mosaic")
    for spec, dtype in (("rope", jnp.bfloat16), ("t5", jnp.float32)):
        assert chosen(spec, GPU, capability=old, dtype=dtype).startswith("dense: only 64 MiB of logits, since ")
        assert chosen(spec, GPU, capability=old, dtype=dtype).endswith(why)
    for asked in ("kernel", "cudnn"):
        with pytest.raises(ValueError, match=f"{why}; 'blockwise' serves every call"):
            chosen("rope", GPU, asked, capability=old)
    for new in ("8.0", "12.0"):
        assert chosen("rope", GPU, capability=new) == chosen("rope", GPU)
        assert chosen("t5", GPU, capability=new) == chosen("t5", GPU)
    monkeypatch.setattr("posenc_jax.attention.choice.ON_GPU", "triton")
    assert chosen("rope", GPU, capability=old) == "kernel: fused; no bias"


def test_a_description_without_a_capability_is_of_the_device_here_or_of_one_not_told(monkeypatch):
    here = types.SimpleNamespace(device_kind="NVIDIA T4", compute_capability="7.5")
    monkeypatch.setattr(jax, "devices", lambda: [here])
    assert capability() == "7.5"
    for kind, wanted in (("NVIDIA T4", "7.5"), ("NVIDIA H200", None)):
        described = jax.sharding.AbstractDevice(device_kind=kind, num_cores=None, platform="gpu")
        with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((1,), ("x",), abstract_device=described)):
            assert capability() == wanted


def test_numbers_of_numpy_and_64_bits():
    """NumPy's float64 is float32 where 64-bit types are not enabled; where they are, the kernel's are of 32."""
    q = np.random.default_rng(0).normal(size=(1, 2, 6, 8))
    slot, geometry = parse("alibi"), Geometry.of_length(6, num_heads=2, causal=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX's, that it computes in float32
        got = attend(q, q, q, slot, ({},), geometry, path="kernel")
        want = attend(q, q, q, slot, ({},), geometry, path="dense")
    np.testing.assert_allclose(got, want, atol=1e-6)
    with jax.enable_x64(True), pytest.raises(ValueError, match="64-bit types are enabled"):
        attend(*[q.astype(np.float32)] * 3, slot, ({},), geometry, path="kernel")
