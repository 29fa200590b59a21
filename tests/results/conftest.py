import pytest
from synthetic_ablation import write_ablation


@pytest.fixture
def ablation(tmp_path):
    """The directory of a small ablation, see `synthetic_ablation.write_ablation`."""
    return write_ablation(tmp_path / "ablation")
