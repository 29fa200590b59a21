"""The gain of a summariser from positions, by committed results."""

from posenc_jax.lessons import quoted
from posenc_jax.lessons.lesson import Lesson


def _body() -> str:
    return f"""\
The commands are for the folder of the repository. The model is a decoder that reads `BOS document SEP summary EOS`
under a causal mask and is trained on the summary alone; it writes token by token, each of which it reads before
the next. (The chapter's class has the same layers. Its search reads one pass over the document, so no word of the
summary is read by the words after it: [how to find out](file:scripts/docs/guides/does-it-reach-your-model.md).)

## What positions are worth
Descriptions of packages to their one-line synopses; ROUGE-L is the share of words that a summary and its reference
have in common in the same order. Mean over 4 seeds [95 % interval], of the first 64 tokens as in training, and of
longer texts:

{quoted.tables()["summaries"]}

These are poor summaries: they have learned how a synopsis begins, and often repeat a word. With almost seven times
the steps the best of them copies from its text, as [the experiment](file:experiments/summarization/README.md) shows.
A summariser of a small grammar's reports reads well after minutes of training: `posenc data prepare grammar/reports`,
`posenc train configs/reports.py`.

## Where a summary comes from
Of the words that a synopsis shares with its description, by fifths of the description:

{quoted.tables()["copied"]}

Small models whose generated documents are as lead-heavy copy in these proportions, where they have positions; an
encoder without any copies from everywhere alike, and a decoder needs none, by its causal mask. The experiment's page
has the figure."""


def _answer() -> str:
    return """\
It refuses in one line, with the way out: `posenc summarize RUN FILE --too-long truncate` reads the beginning, as
training did. A longer summary than those of training is refused too, as positions that far were never seen: train with
`--task.max-summary 150` for outputs of up to 150 tokens."""


LESSON = Lesson(
    name="summaries",
    title="Summaries",
    where="The chapter, 4.3.7: text summarisation",
    claim="With sinusoidal positions a summariser writes better summaries than without.",
    verdict="holds under a condition",
    because=f"On texts as long as those of training ROUGE-L is {quoted.mean('summaries', 'sinusoidal', 1)} against "
    f"{quoted.mean('summaries', 'nope', 1)}; on longer ones {quoted.mean('summaries', 'sinusoidal', 2)} against "
    f"{quoted.mean('summaries', 'nope', 2)}.",
    commands="""
posenc data prepare descriptions/summaries
posenc ablate experiments/summarization/small.py --directory runs/summaries
posenc summarize runs/summaries/descriptions-alibi-* article.txt
""",
    body=_body,
    question="A run was trained on documents of 64 tokens. What does `posenc summarize` do with one of 82?",
    answer=_answer,
    seconds=2,
)
