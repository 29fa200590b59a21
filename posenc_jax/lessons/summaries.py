"""The gain of a summariser from positions, by committed results."""

from posenc_jax.lessons import quoted
from posenc_jax.lessons.lesson import Lesson


def _body() -> str:
    return f"""\
Run the commands in the folder of the repository. The model is a decoder that reads `BOS document SEP summary EOS`
under a causal mask and is trained on the summary alone; it writes token by token, and reads each token before it
writes the next. (The chapter's class has the same layers. Its search uses a single pass over the document, so no word
of the summary sees the words before it: [how to find out](file:scripts/docs/guides/does-it-reach-your-model.md).)

## What positions are worth
Descriptions of packages are summarised as their one-line synopses; ROUGE-L is the share of words that a summary and its
reference have in common in the same order. Mean over 4 seeds [95 % interval], for the first 64 tokens as in training
and for longer texts:

{quoted.tables()["summaries"]}

These summaries are poor: the models have learned how a synopsis begins, and often repeat a word. With almost seven
times the steps, the best of them copies from its text, as [the experiment](file:experiments/summarization/README.md)
shows. A summariser for reports of a small grammar writes well after minutes of training:
`posenc data prepare grammar/reports`, then `posenc train configs/reports.py`.

## Where a summary comes from
The share of a description's words in each fifth of it, and of those that its synopsis copies:

{quoted.tables()["copied"]}

Small models trained on generated documents that are as lead-heavy copy in these proportions if they have positions.
Without any, an encoder copies from everywhere alike; a decoder needs none, because of its causal mask. The
experiment's page has the figure."""


def _answer() -> str:
    return """\
It refuses with one line that names the remedy: `posenc summarize RUN FILE --too-long truncate` reads the beginning, as
training did. A summary longer than those in training is refused too, as positions that far were never seen: train with
`--task.max-summary 150` for outputs of up to 150 tokens."""


LESSON = Lesson(
    name="summaries",
    title="Summaries",
    where="The chapter, 4.3.7: text summarisation",
    claim="With sinusoidal positions, a summariser writes better summaries than without positions.",
    verdict="holds under a condition",
    because=f"On texts as long as those in training, ROUGE-L is {quoted.mean('summaries', 'sinusoidal', 1)} against "
    f"{quoted.mean('summaries', 'nope', 1)}; on longer ones, {quoted.mean('summaries', 'sinusoidal', 2)} against "
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
