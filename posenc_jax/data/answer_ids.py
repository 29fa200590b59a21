"""The tokens that begin and end an answer of a decoder."""

import dataclasses

from posenc_jax.data.tokenizer import BOS, EOS, PAD
from posenc_jax.encodings.interface.value import Value, at_least, limited


@dataclasses.dataclass(frozen=True)
class AnswerIds(Value):
    """The special tokens of a decoder's answers: by default those of our tokenizers, for a checkpoint those of its
    config.

    Attributes:
      start: the token that the decoder starts from.
      eos: the end of sources and of answers.
      pad: what stands after an answer.
      never: tokens that no answer has; probabilities are then those of the others.
    """

    start: int = BOS
    eos: int = EOS
    pad: int = PAD
    never: tuple[int, ...] = ()

    limits = limited(**dict.fromkeys(("start", "eos", "pad"), at_least(0)))
    part_of_run = "task.ids"

    def check_fields(self) -> None:
        """Refuses an ``eos`` that is among the tokens that are never written."""
        if wrong := [token for token in self.never if token < 0 or token == self.eos]:
            raise ValueError(
                f"task.ids.never = {self.never} has {wrong[0]}, and an answer ends with task.ids.eos = {self.eos}: "
                "name other tokens, from 0 on"
            )

    def check_vocabulary(self, size: int) -> None:
        """Refuses (ValueError) ids that a vocabulary of so many tokens lacks."""
        given = [(name, getattr(self, name)) for name in ("start", "eos", "pad")]
        for name, token in (*given, *(("never", token) for token in self.never)):
            if token >= size:
                raise ValueError(f"task.ids.{name} = {token} must be a token of the {size:,} that there are")
