"""Analyses of encodings and of trained models: the contract, the audit, kernels, aliases."""

from posenc_jax.analysis.contract import check_contract, contract_clauses
from posenc_jax.analysis.outcome import ClauseOutcome, ContractError

__all__ = ["ClauseOutcome", "ContractError", "check_contract", "contract_clauses"]
