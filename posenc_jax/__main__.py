"""``python -m posenc_jax`` is ``posenc``."""

import sys

from posenc_jax.cli import main

sys.exit(main())
