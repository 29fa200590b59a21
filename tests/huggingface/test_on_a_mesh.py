"""A checkpoint on two devices: each tensor goes to its place as it is read, bit for bit."""

import processes
from tiny_checkpoints import checkpoint_of

PROGRAM = """
import json
import jax, numpy as np
from jax.sharding import Mesh
from posenc_jax.huggingface.checkpoint import Checkpoint, load
from posenc_jax.training.leaf_names import flat

checkpoint, leaves, put, done = load(FOLDER), Checkpoint.leaves, jax.device_put, []
whole = flat(checkpoint.params())

def reading(self, dtype):
    for name, array in leaves(self, dtype):
        done.append("read " + name)
        yield name, array

def placing(array, sharding):
    done.append("placed")
    return put(array, sharding)

Checkpoint.leaves, jax.device_put = reading, placing
mesh = Mesh(np.array(jax.devices()).reshape(1, 1, 2), ("replica", "data", "model"))
model, specs = checkpoint.build(mesh=mesh), {}
for name, leaf in flat(model).items():
    np.testing.assert_array_equal(leaf, whole[name], err_msg=name)
    parts = leaf.addressable_shards
    assert {part.device for part in parts} == set(jax.devices()), name
    specs[name] = [list(leaf.sharding.spec), parts[0].data.size / leaf.size]
print(json.dumps({"done": done, "specs": specs}))
"""


def test_leaves_are_placed_one_by_one(tmp_path):
    found = processes.python(PROGRAM.replace("FOLDER", repr(str(checkpoint_of("llama", tmp_path / "hf")))))
    assert found["done"] == [event for name in found["done"][::2] for event in (name, "placed")]
    assert {name.removeprefix("read ") for name in found["done"][::2]} == found["specs"].keys()
    for name, (spec, share) in found["specs"].items():
        columns = name.endswith(("query.kernel", "key.kernel", "value.kernel", "gate.kernel", "hidden.kernel"))
        rows = name.endswith("output.kernel")
        wanted = ([None, "model"], 0.5) if columns else (["model", None], 0.5) if rows else ([], 1)
        assert (spec, share) == wanted, name
