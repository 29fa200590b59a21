"""Settings of `posenc_jax.models.decode`: greedy decoding, beam search or sampling."""

import dataclasses
from typing import Literal

from posenc_jax.encodings.interface.value import Limit, Value, at_least, limited

# Logits divided by less overflow float32; no float32 model distinguishes what is below from the limit 0.
_COLDEST = 1e-6
_MOST = 2**16


@dataclasses.dataclass(frozen=True)
class Greedy(Value):
    """Again and again the most probable next token (of equals the one with the smallest id)."""

    @property
    def num_outputs(self) -> int:
        """Outputs N of a prompt."""
        return 1


@dataclasses.dataclass(frozen=True)
class Beam(Value):
    """Beam search: the ``size`` most probable beginnings are kept, those that end are ranked by a penalised score.

    In every step the continuations of all beginnings are ordered by log P. Those among the best ``size`` that end with
    eos are finished; the best ``size`` of the others go on. The best ``size`` finished ones by score are kept::

        score = log P(Y) / lp(Y)     gnmt: lp = ((5 + |Y|) / 6)^alpha     huggingface: lp = |Y|^alpha     none: lp = 1

    ``|Y|`` counts the new tokens, eos among them, never the prompt. So do Tensor2Tensor, fairseq and transformers of
    Hugging Face (which once counted the prompt, and not the eos); Wu et al. leave it open.

    Implementations differ elsewhere too. Tensor2Tensor finishes what ends among the best ``2 size``; here, as in
    fairseq and transformers, among the best ``size``, so that a beam of 1 is greedy decoding. An output that is cut off
    at the largest number of new tokens competes with its score so far, as in transformers; Tensor2Tensor prefers
    finished ones, and fairseq forces an eos.

    Attributes:
      size: beginnings kept, and outputs N of a prompt, up to 65536.
      length_penalty, alpha: see above; "none" does not read alpha. Larger alphas make outputs longer, negative ones
        shorter. Wu et al. used 0.2, Vaswani et al. (2017) 0.6, the default of transformers is "huggingface" with 1.0.
      early_stopping: a row ends as soon as ``size`` outputs are finished (fairseq; True in transformers). False: only
        when no beginning can come to a better score than the worst of them (Tensor2Tensor; "never" in transformers).
        That seldom ends early, as the largest length bounds what a beginning can come to, and with a length penalty
        a beam of 1 is then more than greedy decoding. The default heuristic of transformers is not offered.

    Reference: Wu, Y. et al. (2016). Google's Neural Machine Translation System. arXiv:1609.08144, section 7, eq. 14
    (without its coverage penalty).
    """

    size: int = 4
    length_penalty: Literal["gnmt", "huggingface", "none"] = "gnmt"
    alpha: float = 0.6
    early_stopping: bool = True

    limits = limited(size=at_least(1, ", and a beam of 1 is greedy decoding", most=_MOST))

    @property
    def num_outputs(self) -> int:
        """Outputs N of a prompt."""
        return self.size


@dataclasses.dataclass(frozen=True)
class Sampling(Value):
    """Tokens drawn from ``softmax(logits / temperature)``, of the most probable ones only if so set.

    Attributes:
      temperature: below 1 sharpens, above 1 flattens; towards 0 it becomes greedy decoding.
      top_k: draw among the k most probable tokens only (Fan et al. 2018), exactly k: of equals those with smaller ids.
      top_p: draw among the smallest set of tokens with probability p or more together (Holtzman et al. 2020), the most
        probable one always, equals of the last one too. As in transformers the temperature acts first, then top_k, then
        top_p on what that left, scaled to sum 1.
      num_samples: outputs N of a prompt, independent, up to 65536; sample n is the same for every N.

    References: Fan, A., Lewis, M., Dauphin, Y. (2018). Hierarchical Neural Story Generation. arXiv:1805.04833.
    Holtzman, A. et al. (2020). The Curious Case of Neural Text Degeneration. arXiv:1904.09751.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    num_samples: int = 1

    limits = limited(
        temperature=Limit(_COLDEST, f"be {_COLDEST} or more: the limit 0 is Greedy()"),
        top_k=at_least(1, ", or None for all tokens"),
        num_samples=at_least(1, most=_MOST),
    )

    def check_fields(self) -> None:
        """Refuses a nucleus without a token."""
        if self.top_p is not None and not 0.0 < self.top_p <= 1.0:
            raise ValueError(f"Sampling.top_p = {self.top_p} is outside (0, 1]: it is a probability, None for all")

    @property
    def num_outputs(self) -> int:
        """Outputs N of a prompt."""
        return self.num_samples


Decoding = Greedy | Beam | Sampling
