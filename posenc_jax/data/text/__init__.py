"""Tasks on real text: translation, summarisation, classification of documents, language modelling."""

from posenc_jax.data.answer_ids import AnswerIds as AnswerIds
from posenc_jax.data.text.base import Data as Data
from posenc_jax.data.text.base import Encoded as Encoded
from posenc_jax.data.text.base import TextData as TextData
from posenc_jax.data.text.base import TextTask as TextTask
from posenc_jax.data.text.classification import Classification as Classification
from posenc_jax.data.text.language_model import LanguageModel as LanguageModel
from posenc_jax.data.text.masked_language_model import MaskedLanguageModel as MaskedLanguageModel
from posenc_jax.data.text.summarization import Summarization as Summarization
from posenc_jax.data.text.translation import Translation as Translation

# The tasks on text by the word used in strings and tables.
TEXT_TASKS: dict[str, type[TextTask]] = {
    task.name: task for task in (Translation, Summarization, Classification, LanguageModel, MaskedLanguageModel)
}
