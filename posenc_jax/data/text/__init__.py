"""Tasks on real text: translation, summarisation, classification of documents, language modelling."""

from posenc_jax.data.text.base import Data, Encoded, TextData, TextTask
from posenc_jax.data.text.classification import Classification
from posenc_jax.data.text.language_model import LanguageModel
from posenc_jax.data.text.summarization import Summarization
from posenc_jax.data.text.translation import Translation

TEXT_TASKS: dict[str, type[TextTask]] = {
    task.name: task for task in (Translation, Summarization, Classification, LanguageModel)
}

__all__ = [
    "TEXT_TASKS",
    "Classification",
    "Data",
    "Encoded",
    "LanguageModel",
    "Summarization",
    "TextData",
    "TextTask",
    "Translation",
]
