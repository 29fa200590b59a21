"""All parts, by value."""

from __future__ import annotations

from device_parts.checks import CHECKS
from device_parts.kernels import ATTENTION
from device_parts.longer import LONGER
from device_parts.part import Part
from device_parts.replicas import REPLICAS
from device_parts.steps import LONG_ROWS, REPEATABLE, TRAINING
from device_parts.wholes import ACCELERATOR, DEMO, PUBLISHED

PARTS: dict[str, Part] = {
    part.name: part
    for part in (CHECKS, ATTENTION, TRAINING, REPLICAS, DEMO, REPEATABLE, LONG_ROWS, LONGER, *PUBLISHED, ACCELERATOR)
}
