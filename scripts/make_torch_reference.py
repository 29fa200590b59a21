"""Writes outputs and gradients of PyTorch's Transformers for tests/models/test_torch_parity.py.

    python scripts/make_torch_reference.py tests/models/data

For torch.nn.Transformer one file for each of post-norm and pre-norm with ReLU and GELU, and one file for a
torch.nn.TransformerEncoder without a final norm; float64, made with torch 2.13 on a CPU. All parameters are random,
those that torch starts at 0 or 1 too. The target is masked causally, source and target end in padding.
"""

import sys
from pathlib import Path

import numpy as np

CASES = [(norm, activation) for norm in ("post", "pre") for activation in ("relu", "gelu")]
D_MODEL, NUM_HEADS, NUM_LAYERS, MLP_DIM = 8, 2, 2, 12
SOURCE_REAL = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
TARGET_REAL = np.array([[1, 1, 1, 1], [1, 1, 1, 0]])


def reference(norm: str, activation: str, seed: int) -> dict[str, np.ndarray]:
    """Inputs, parameters ("param/..."), output and gradients ("grad/...") of sum(output * weights)."""
    import torch

    rng = np.random.default_rng(seed)
    model = torch.nn.Transformer(
        d_model=D_MODEL,
        nhead=NUM_HEADS,
        num_encoder_layers=NUM_LAYERS,
        num_decoder_layers=NUM_LAYERS,
        dim_feedforward=MLP_DIM,
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=norm == "pre",
        dtype=torch.float64,
    )
    _randomize(model, rng)
    arrays = {
        "source": rng.normal(size=(*SOURCE_REAL.shape, D_MODEL)),
        "target": rng.normal(size=(*TARGET_REAL.shape, D_MODEL)),
        # What a padded target position gives has no meaning, so it has no weight.
        "weights": rng.normal(size=(*TARGET_REAL.shape, D_MODEL)) * TARGET_REAL[..., None],
    }
    source, target = (torch.from_numpy(arrays[name]).requires_grad_() for name in ("source", "target"))
    source_padding, target_padding = torch.from_numpy(SOURCE_REAL == 0), torch.from_numpy(TARGET_REAL == 0)
    output = model(
        source,
        target,
        tgt_mask=_future(TARGET_REAL.shape[1]),
        src_key_padding_mask=source_padding,
        tgt_key_padding_mask=target_padding,
        memory_key_padding_mask=source_padding,
    )
    (output * torch.from_numpy(arrays["weights"])).sum().backward()
    arrays |= {"output": output.detach().numpy() * TARGET_REAL[..., None]}
    arrays |= {"grad/source": source.grad.numpy(), "grad/target": target.grad.numpy()}
    for name, parameter in model.named_parameters():
        arrays[f"param/{name}"] = parameter.detach().numpy()
        arrays[f"grad/{name}"] = parameter.grad.numpy()
    return arrays


def encoder_reference(seed: int) -> dict[str, np.ndarray]:
    """Input, parameters ("param/encoder...") and outputs of a post-norm ReLU encoder: without mask and causal."""
    import torch

    rng = np.random.default_rng(seed)
    layer = torch.nn.TransformerEncoderLayer(
        D_MODEL, NUM_HEADS, MLP_DIM, dropout=0.0, batch_first=True, dtype=torch.float64
    )
    model = torch.nn.ModuleDict({"encoder": torch.nn.TransformerEncoder(layer, NUM_LAYERS)})
    _randomize(model, rng)
    arrays = {"source": rng.normal(size=(*SOURCE_REAL.shape, D_MODEL))}
    source, padding = torch.from_numpy(arrays["source"]), torch.from_numpy(SOURCE_REAL == 0)
    with torch.no_grad():
        for name, mask in {"output": None, "causal_output": _future(SOURCE_REAL.shape[1])}.items():
            output = model["encoder"](source, mask=mask, src_key_padding_mask=padding)
            arrays[name] = output.numpy() * SOURCE_REAL[..., None]
    return arrays | {f"param/{name}": parameter.detach().numpy() for name, parameter in model.named_parameters()}


def _randomize(model, rng) -> None:
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.from_numpy(rng.normal(size=tuple(parameter.shape)) * 0.5))


def _future(size: int):
    import torch

    return torch.ones(size, size, dtype=torch.bool).triu(1)


def main() -> None:
    """Writes all cases into the folder given on the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for norm, activation in CASES:
        arrays = reference(norm, activation, seed=0)
        np.savez_compressed(folder / f"torch_transformer_{norm}_{activation}.npz", **arrays)
    np.savez_compressed(folder / "torch_encoder_post_relu.npz", **encoder_reference(seed=0))


if __name__ == "__main__":
    main()
