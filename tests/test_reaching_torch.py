"""What the pages for people from PyTorch say of torch, asked of torch, where there is one."""

from pathlib import Path

from torch_live import run_torch

from posenc_jax.models import Transformer

GUIDES = Path(__file__).parent.parent / "scripts" / "docs" / "guides"

MODELS = """
import re, sys
import torch

blocks = re.findall(r"^```python\\n(.*?)^```$", open(sys.argv[1]).read(), re.MULTILINE | re.DOTALL)
exec(next(block for block in blocks if "def order_matters" in block))
lines = next(block for block in blocks if "net.eval()" in block)


class Net(torch.nn.Module):
    def __init__(self, layout, batch_first):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=batch_first)
        self.layout, self.encoder = layout, torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.embedding = torch.nn.Embedding(20, 16)
        angles = torch.arange(50)[:, None] / 10000 ** (torch.arange(0, 16, 2) / 16)
        self.register_buffer("pe", torch.stack([angles.sin(), angles.cos()], -1).reshape(1, 50, 16))

    def forward(self, tokens):
        tokens = tokens if self.layout == "batch first" else tokens.T
        x = self.embedding(tokens)
        x = self.encoder(x + self.pe[:, : x.size(1)])
        return x if self.layout == "batch first" else x.transpose(0, 1)


def of(layout, batch_first):
    torch.manual_seed(0)
    names = {"net": Net(layout, batch_first).double(), "torch": torch}
    exec(lines, names)
    return names["model"]


tokens = np.array([[3, 1, 4, 5, 9, 2], [6, 5, 3, 8, 7, 9]])
right, along_the_batch = of("batch first", True), of("sentence first", False)
assert order_matters(right, tokens) > 0.1 > 1e-9 > order_matters(along_the_batch, tokens)
assert rows_are_mixed(right, tokens) < 1e-9 < 0.1 < rows_are_mixed(along_the_batch, tokens)
along_the_documents = of("batch first", False)
pooled, wrong = (lambda tokens, model=model: model(tokens).mean(1) for model in (right, along_the_documents))
assert words_meet(pooled, tokens) > 0.1 > 1e-9 > words_meet(wrong, tokens)
assert rows_are_mixed(pooled, tokens) < 1e-9 < 0.1 < rows_are_mixed(wrong, tokens)
assert words_meet(wrong, tokens[:1]) < 1e-9 < 0.1 < order_matters(along_the_documents, tokens)
"""

MASKS = """
import torch

q = torch.randn(1, 1, 4, 8)
seen = torch.ones(4, 4, dtype=torch.bool).tril()
added = torch.nn.Transformer.generate_square_subsequent_mask(4)
attend = torch.nn.functional.scaled_dot_product_attention
torch.testing.assert_close(attend(q, q, q, attn_mask=seen), attend(q, q, q, attn_mask=added))
layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
x = torch.randn(1, 4, 8)
torch.testing.assert_close(layer(x, x, x, attn_mask=~seen)[0], layer(x, x, x, attn_mask=added)[0])
padding = torch.tensor([[False, False, True, True]])
weights = layer(x, x, x, key_padding_mask=padding)[1]
assert (weights[0, :, 2:] == 0).all() and (weights[0, 2:, :2] > 0).all(), "padding reads the real words"
"""

DEFAULTS = """
import inspect, sys
import torch

found = {name: p.default for name, p in inspect.signature(torch.nn.Transformer).parameters.items()}
named = dict(part.split("=") for part in sys.argv[2].split())
assert {name: getattr(found[name], "__name__", str(found[name])) for name in named} == named, found
assert f"{sum(p.numel() for p in torch.nn.Transformer().parameters()):,}" == sys.argv[1]
"""


def test_wrong_models_of_torch_are_told_from_right_ones():
    run_torch(MODELS, str(GUIDES / "does-it-reach-your-model.md"))


def test_masks_of_torch_mean_what_the_page_says():
    run_torch(MASKS)


def table():
    """Name in torch -> the two cells after it, of the page's table of `nn.Transformer`."""
    text = (GUIDES / "from-pytorch.md").read_text()
    rows = text.split("## `nn.Transformer`")[1].split("```")[0].splitlines()
    return {cells[0]: cells[1:] for cells in ([cell.strip() for cell in row.split("|")[1:-1]] for row in rows) if cells}


def test_defaults_of_this_library_are_those_of_the_table():
    rows, ours = table(), Transformer()
    default = {name: cells[1].partition("; ")[2].strip('"') for name, cells in rows.items()}
    assert default["`d_model`, `nhead`"] == f"{ours.d_model}, {ours.num_heads}"
    assert default["`num_encoder_layers`, `num_decoder_layers`"] == str(ours.num_layers)
    assert (default["`dim_feedforward`"], ours.mlp_dim) == ("4 d_model", None)
    assert (default["`activation`"], default["`norm_first`"]) == (ours.activation, ours.norm)
    assert default["`dropout`"] == str(ours.dropout)
    assert (ours.final_norm, ours.attention_bias, ours.mlp_bias, ours.scale_embeddings) == (None, True, True, True)


def test_defaults_of_torch_are_those_of_the_table():
    first = {name: cells[1].partition("; ")[0].strip('"') for name, cells in table().items() if len(cells) == 2}
    (d_model, nhead), layers = (
        first["`d_model`, `nhead`"].split(", "),
        first["`num_encoder_layers`, `num_decoder_layers`"],
    )
    asked = {"d_model": d_model, "nhead": nhead, "num_encoder_layers": layers, "num_decoder_layers": layers}
    names = ("dim_feedforward", "activation", "dropout", "layer_norm_eps", "batch_first", "norm_first", "bias")
    asked |= {name: first[f"`{name}`"].replace("1e-5", "1e-05") for name in names}
    counted = next(line for line in (GUIDES / "from-pytorch.md").read_text().splitlines() if line[:3] == "44,")
    run_torch(DEFAULTS, counted, " ".join(f"{name}={value}" for name, value in asked.items()))
