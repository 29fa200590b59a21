"""What can be said about encodings and about trained models. So far: the contract that every encoding keeps."""

from posenc_jax.analysis.contract import Clause, ContractError, check_contract, contract_clauses

__all__ = ["Clause", "ContractError", "check_contract", "contract_clauses"]
