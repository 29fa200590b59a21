"""A checkpoint on two devices: each tensor goes to its place as it is read, and none is kept whole elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

from tiny_checkpoints import checkpoint_of

import posenc_jax

PROGRAM = """
import sys
import jax, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from posenc_jax.huggingface.checkpoint import Checkpoint, load
from posenc_jax.training.leaf_names import flat

checkpoint, leaves, put, done = load(sys.argv[1]), Checkpoint.leaves, jax.device_put, []
whole = flat(checkpoint.params())

def reading(self, dtype):
    for name, array in leaves(self, dtype):
        done.append(name)
        yield name, array

def placing(array, sharding):
    done.append(sharding)
    return put(array, sharding)

Checkpoint.leaves, jax.device_put = reading, placing
mesh = Mesh(np.array(jax.devices()).reshape(1, 1, 2), ("replica", "data", "model"))
model = checkpoint.build(mesh=mesh)
assert [isinstance(event, str) for event in done] == [True, False] * len(whole), done
split = 0
for name, leaf in flat(model).items():
    np.testing.assert_array_equal(leaf, whole[name], err_msg=name)
    assert leaf.sharding == done[done.index(name) + 1], name
    parts = [shard.data.shape for shard in leaf.addressable_shards]
    assert len(parts) == len({shard.device for shard in leaf.addressable_shards}) == 2, name
    if name.endswith(("query.kernel", "mlp.hidden.kernel")):
        assert leaf.sharding.spec == P(None, "model"), (name, leaf.sharding)
    if name.endswith("output.kernel"):
        assert leaf.sharding.spec == P("model", None), (name, leaf.sharding)
    split += parts[0] != leaf.shape
assert split == 7 * checkpoint.model.num_layers, split
"""


def test_leaves_are_placed_one_by_one(tmp_path):
    own = {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(Path(posenc_jax.__file__).parents[1])}
    own["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    command = [sys.executable, "-c", PROGRAM, str(checkpoint_of("llama", tmp_path / "hf"))]
    done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
