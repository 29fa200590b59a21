"""The record of an ablation, read and summed up in numbers: scores, intervals, paired differences, what is missing.

`read_result` gives flat rows for tables of one's own; `summarise` what a report says.
"""

from posenc_jax.results.ablation_result import AblationResult, read_result
from posenc_jax.results.record import Record, ReplicaScores, read_record
from posenc_jax.results.summary import Summary
from posenc_jax.results.summation import summarise

__all__ = ["AblationResult", "Record", "ReplicaScores", "Summary", "read_record", "read_result", "summarise"]
