"""``ablation.json``: the members that an ablation writes for its report, which are those that are read."""

from typing import NotRequired, TypedDict

from posenc_jax.files.shapes import Json


class Code(TypedDict):
    """Code that computed some seeds of a cell; ``own``: name of a file or class of the user -> digest."""

    version: NotRequired[str]
    commit: NotRequired[str]
    dirty: NotRequired[bool]
    source: NotRequired[str]
    own: NotRequired[dict[str, str]]
    seeds: list[int]


class ByPosition(TypedDict):
    """Perplexities of one replica at one length: first and last position, and the perplexity between them."""

    seed: int
    learning_rate: float
    length: int
    perplexity: list[list[float | None]]


class CellInfo(TypedDict):
    """A cell; those that no group has told yet are None."""

    label: str
    task_label: str
    posenc: str | None
    config_hash: str
    directory: str
    num_parameters: int | None
    num_posenc_parameters: int | None
    seeds: list[int]
    learning_rates: list[float]
    lengths: list[int]
    citations: list[str]
    note: str | None
    bit_exact: bool
    code: list[Code]
    changed_code: bool
    by_position: list[ByPosition]


class PublishedInfo(TypedDict):
    """A published value of a cell."""

    task_label: str
    label: str
    value: float | None
    direction: str
    metric: str
    lengths: str
    source: str


class AblationInfo(TypedDict):
    """An ablation; objects are by the label of a task, ``environments`` by the name that rows have, each as
    `posenc_jax.environments.history` tells it."""

    name: str
    title: str
    description: str
    baseline: str | None
    seeds: list[int]
    learning_rates: list[float]
    cells: list[CellInfo]
    published: list[PublishedInfo]
    train_lengths: dict[str, list[int]]
    metric: dict[str, str]
    own_metrics: NotRequired[dict[str, list[str]]]
    validation_metric: dict[str, str]
    writes_text: dict[str, bool]
    length_unit: dict[str, str]
    length_names: dict[str, dict[str, str]]
    signatures: dict[str, dict[str, str]]
    task_notes: dict[str, str]
    chance: dict[str, float | None]
    floors: NotRequired[dict[str, dict[str, float]]]
    shortcut: NotRequired[dict[str, str]]
    shortcut_score: NotRequired[dict[str, float | None]]
    task: dict[str, Json]
    asks: NotRequired[dict[str, str]]
    config: Json
    environment: Json
    environments: dict[str, Json]
    size_note: str
