"""What can be said about encodings and about trained models. So far: the contract that every encoding keeps."""

from posenc_jax.analysis.contract import check_contract, contract_clauses
from posenc_jax.analysis.outcome import Clause, ContractError

__all__ = ["Clause", "ContractError", "check_contract", "contract_clauses"]
