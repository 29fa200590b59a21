"""The commands `translate`, `summarize` and `classify`: a finished run on texts that are given."""

import dataclasses
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from posenc_jax.cli.errors import UsageError, refusing, whole
from posenc_jax.cli.screen import show, tell
from posenc_jax.cli.session import trust
from posenc_jax.data.errors import DataError
from posenc_jax.drawing.plain import plain, short
from posenc_jax.models.decoding_config import Beam, Decoding, Greedy, Sampling

LARGEST_SEED = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class OfRun:
    """A run, and options about it.

    Attributes:
      run: directory of a finished run, or of a cell or group
      trust: run the Python files that RUN brought along, naming each with its digest (default: they are not run)
      seed: seed of the replica (default: the first that did not diverge), at the learning rate that is best by
        validation
      random_seed: seed of samples and of randomly drawn positions (default: 0)
    """

    run: Path
    _: dataclasses.KW_ONLY
    trust: Annotated[Path | None, "RUN"] = None
    seed: int | None = None
    random_seed: Annotated[int, whole(0, LARGEST_SEED)] = 0

    def answers(self, kind: str, inputs: Mapping[str, Any] | Sequence[str], *how: Any, **more: Any) -> Any:
        """The answers of a function of `runs.inference` to the inputs, which may have names; a function among them is
        called with the run's task.
        """
        trust(self.trust)
        from posenc_jax.cli.progress import TerminalReporter
        from posenc_jax.runs import inference

        names, given = (list(inputs), inputs.values()) if isinstance(inputs, Mapping) else (None, inputs)
        with TerminalReporter() as reporter:
            loaded = inference.load_run(self.run, self.seed, reporter=reporter)
            texts = [one(loaded.config.task) if callable(one) else one for one in given]
            more |= {"random_seed": self.random_seed, "names": names, "reporter": reporter}
            try:
                return getattr(inference, kind)(loaded, texts, *how, **more)
            except DataError as error:
                raise DataError(re.sub(r"too_long = '(\w+)'", r"--too-long \1", str(error))) from None


@dataclasses.dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """Options for decoding, which is greedy by default.

    Attributes:
      max_new_tokens: cut outputs off after N tokens (default: as in the evaluation)
      beam: use beam search with this many beams (default: greedy decoding, token by token)
      length_penalty: length penalty of --beam (default: gnmt)
      alpha: exponent of the length penalty (default: 0.6)
      sample: sample tokens
      temperature: temperature of --sample (default: 1)
      top_k: --sample: only from the N most probable tokens
      top_p: --sample: only from the most probable tokens with total probability X
      scores: print the log-probability and a tab before each output
    """

    max_new_tokens: int | None = None
    beam: Annotated[int | None, "SIZE"] = None
    length_penalty: Literal["gnmt", "huggingface", "none"] | None = None
    alpha: float | None = None
    sample: bool = False
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    scores: bool = False

    def decoding(self) -> Decoding:
        """The decoding that the options ask for; UsageError when they do not fit together."""

        given = {name: value for name, value in vars(self).items() if value is not None}
        beam = {name: given[name] for name in ("length_penalty", "alpha") if name in given}
        sampling = {name: given[name] for name in ("temperature", "top_k", "top_p") if name in given}
        if self.beam is not None and self.sample:
            raise UsageError("--beam and --sample are two ways to find outputs: choose one")
        if (beam and self.beam is None) or (sampling and not self.sample):
            raise UsageError(
                "--length-penalty and --alpha need --beam; --temperature, --top-k and --top-p need --sample"
            )
        with refusing():
            if self.beam is not None:
                return Beam(self.beam, **beam)
            return Sampling(**sampling) if self.sample else Greedy()

    def shown(self, outputs: Iterable[Any]) -> list[str]:
        """A line for each output, in which line breaks are spaces; that some were cut off is said."""
        if cut_off := [str(number) for number, output in enumerate(outputs, 1) if not output.finished]:
            tell(f"cut off at the largest number of tokens: output {short(', '.join(cut_off))}")
        score = "{:.4f}\t" if self.scores else ""
        return [score.format(output.log_prob) + " ".join(output.text.splitlines()) for output in outputs]


def translate(
    of_run: OfRun,
    sentences: Sequence[str] = (),
    *,
    too_long: Literal["refuse", "truncate", "window"] = "refuse",
    decoded: DecodingOptions,
) -> None:
    """Translate sentences with a finished run of task "translation", or with an imported T5 or Marian: the
    sentences given after RUN, or else the lines of standard input. Each translation is one line; an empty input line
    stays empty. All sentences are read before any is translated: if some cannot be translated, they are listed with
    their numbers and nothing is translated. Words and pairs of words that did not occur in training are noted.
    Standard output holds only the results; notes go to standard error.

    Args:
      sentences: sentences (default: the lines of standard input)
      too_long: a text of more tokens than the run was trained or evaluated with: refuse it (default), or translate it
        without its end (truncate), or in pieces, cut between sentences where possible and joined by a space (window)

    Examples:
      posenc translate RUN "Opens the dialog." --beam 4
          translate a sentence with beam search
    """
    decoding = decoded.decoding()
    lines = list(sentences) or _lines()
    given = {f"line {number}": line for number, line in enumerate(lines, 1) if line.strip()}
    options = {"max_new_tokens": decoded.max_new_tokens, "too_long": too_long}
    found = decoded.shown(of_run.answers("translate", sentences or given, decoding, **options))
    for line in lines:
        show(found.pop(0) if sentences or line.strip() else "0.0000\t" if decoded.scores else "")


def _lines() -> list[str]:
    from posenc_jax.data.corpora.reading import text_of

    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("translate: give sentences after RUN, or one a line on standard input")
    lines = text_of(sys.stdin.buffer.read(), "standard input").removesuffix("\n").split("\n")
    if not any(line.strip() for line in lines):
        raise UsageError("standard input is empty: give one sentence a line, or sentences after RUN")
    return lines


def summarize(
    of_run: OfRun, file: Path, *, too_long: Literal["refuse", "truncate"] = "refuse", decoded: DecodingOptions
) -> None:
    """Summarise a UTF-8 text file in one line with a finished run of task "summarization".
    Standard output holds only the results; notes go to standard error.

    Args:
      file: the text
      too_long: a text of more tokens than the run was trained or evaluated with: refuse it (default), or summarise it
        without its end, as in training (truncate)

    Examples:
      posenc summarize RUN article.txt
          summarise a file
    """
    from posenc_jax.data.corpora.reading import read_file

    options = {"max_new_tokens": decoded.max_new_tokens, "too_long": too_long}
    text = {str(file): read_file(file)}
    show("\n".join(decoded.shown(of_run.answers("summarize", text, decoded.decoding(), **options))))


def classify(of_run: OfRun, file: Path, *, too_long: Literal["refuse", "truncate", "window"] = "refuse") -> None:
    """Classify a UTF-8 document with a finished run of task "classification": print a line
    `label  probability` for every class, the most probable first. FILE is one of

    - a .json file: an object {"header": ..., "body": ..., "footer": ...} of
      strings, with the names of the sections that the run reads; any of them
      may be missing;
    - a .md or .html file, for a run whose sections have other names: its
      outermost headings name the sections;
    - any other text file, all of which is the body (or the only section).

    A run that reads the structure of whole documents (task.structure) is given the file as it is: Markdown, HTML, or
    JSON with spans. A file whose name declares another of these formats (.md, .html, .json) is refused.
    Standard output holds only the results; notes go to standard error.

    Args:
      file: the document
      too_long: a text of more tokens than the run was trained or evaluated with: refuse it (default), or classify it
        without the end of its body, then of its header, as in training (truncate), or by the mean probabilities over
        pieces of its body, each with header and footer (window); if sections have other names, the longest ones lose
        their ends, or the one with the most text is read in pieces; task.structure allows only truncate

    Examples:
      posenc classify RUN page.txt
          classify a file
    """
    from posenc_jax.data.corpora.reading import read_file
    from posenc_jax.data.text.given import document_of

    text = read_file(file)
    (found,) = of_run.answers("classify", {str(file): lambda task: document_of(task, file, text)}, too_long=too_long)
    shown = {plain(label): probability for label, probability in found.items()}
    width = max(map(len, shown))
    for label, probability in sorted(shown.items(), key=lambda item: -item[1]):
        show(f"{label:<{width}}  {probability:.4f}")
