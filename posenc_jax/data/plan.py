"""The choice of the examples of each batch: pure functions of (token lengths, settings, seed, step).

No iterator and no state: any step can be asked for, in any order, and a run that resumes at a step reads what it would
have read. Examples have lengths ``[n]``, or ``[n, 2]`` with two sides (source, target).
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np

# Rows that may still take an example (`packed` says what happens when one more is needed).
OPEN_ROWS = 64
_UINT64 = 2**64
# Orders that must be the same for all seeds are drawn with this one.
_NO_SEED = _UINT64 - 1


def order(n: int, seed: int, epoch: int) -> np.ndarray:
    """``[n]`` int64, a permutation of ``0 .. n-1``, another for every (seed, epoch).

    Examples are sorted by keys: that of example ``i`` is the i-th 64 random bits of Philox under ``(seed, epoch)``.
    Raw bits are the same in every version of NumPy, which its `permutation` need not be.

    Reference: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011), Philox4x64-10.
    """
    key = np.asarray([seed % _UINT64, epoch % _UINT64], np.uint64)
    return np.argsort(np.random.Philox(key=key).random_raw(n), kind="stable")


def packed(lengths: np.ndarray, capacities: int | Sequence[int], max_examples: int, order: np.ndarray) -> np.ndarray:
    """Examples put into rows: ``[R, max_examples]`` int32 ids, -1 = none (at the end of a row).

    Every example is in exactly one row, and no row holds more tokens than its capacity on any side. First fit: at most
    64 rows are open; each example, in the given order, goes into the first open row with room for it, or else opens a
    row. Before a 65th, the row with the fewest tokens left on any side is closed.

    Args:
      lengths: ``[n]`` or ``[n, sides]``, tokens of each example, at least 1.
      capacities: tokens of a row, one int a side.
      max_examples: examples in a row, at most.
      order: ``[n]``, the ids in the order in which they are put into rows.

    Raises:
      ValueError: a length below 1 or above its capacity; capacities that are not one a side; max_examples below 1.
    """
    lengths, capacities = _by_side(lengths), _tuple(capacities)
    if len(capacities) != lengths.shape[1]:
        raise ValueError(f"capacities {capacities} for examples of {lengths.shape[1]} sides: give one int a side")
    if max_examples < 1:
        raise ValueError(f"max_examples {max_examples} is below 1: a row holds at least one example")
    _check_lengths(lengths, capacities, "capacity")
    smallest = lengths.min(axis=0, initial=max(capacities)).tolist()
    # Tokens left in each open row, an array a side; -1 where no row is open.
    free = [np.full(OPEN_ROWS, -1, np.int64) for _ in capacities]
    rows: list[list[int]] = []
    row_at: list[list[int]] = [[] for _ in range(OPEN_ROWS)]
    for example, needed in zip(order.tolist(), lengths[order].tolist()):
        fits = free[0] >= needed[0]
        for left, tokens in zip(free[1:], needed[1:]):
            fits &= left >= tokens
        at = int(fits.argmax())  # the first True, if any is
        if not fits[at]:
            # The first free index, or the row with the least left.
            at = int(np.minimum.reduce(free).argmin())
            row_at[at] = []
            rows.append(row_at[at])
            for left, capacity in zip(free, capacities):
                left[at] = capacity
        row_at[at].append(example)
        full = len(row_at[at]) == max_examples
        for left, tokens, least in zip(free, needed, smallest):
            left[at] -= tokens
            full = full or left[at] < least
        if full:
            for left in free:
                left[at] = -1
    result = np.full((len(rows), max_examples), -1, np.int32)
    counts = np.asarray([len(row) for row in rows], np.int64)
    result[np.arange(max_examples) < counts[:, None]] = [example for row in rows for example in row]
    return result


def _check_lengths(lengths: np.ndarray, limits: Sequence[int], limit_name: str) -> None:
    if len(lengths) and lengths.min() < 1:
        example = int(np.argmin(lengths.min(axis=1)))
        raise ValueError(
            f"example {example} has length {lengths.min()}: every side needs at least 1 token; leave it out"
        )
    for side, limit in enumerate(limits):
        too_long = np.flatnonzero(lengths[:, side] > limit)
        if len(too_long):
            raise ValueError(
                f"{len(too_long)} examples are longer than the {limit_name} {limit} (example {too_long[0]} has "
                f"{lengths[too_long[0], side]} tokens): leave them out, cut them, or raise the {limit_name}"
            )


def _by_side(lengths: np.ndarray) -> np.ndarray:
    lengths = np.asarray(lengths)
    return lengths[:, None] if lengths.ndim == 1 else lengths


def _tuple(capacities: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(np.atleast_1d(np.asarray(capacities, np.int64)).tolist())


class _Rows:
    """Batches of rows that are shuffled anew in every epoch.

    An epoch has ``R // batch_size`` steps; what does not fill a batch is left out of that epoch, other rows each time.
    """

    rows: np.ndarray
    batch_size: int
    seed: int
    _order: Callable[[int], np.ndarray]

    def _take(self, rows: np.ndarray, what: str, first_epoch: int) -> None:
        """The rows, and the number under which the first epoch's order is drawn."""
        if self.batch_size < 1:
            raise ValueError(f"batch_size {self.batch_size} is below 1")
        if len(rows) < self.batch_size:
            raise ValueError(
                f"{len(rows)} {what} do not fill a batch of {self.batch_size}: lower batch_size to {len(rows)} or "
                "less, or use more text"
            )
        object.__setattr__(self, "rows", rows)
        in_order = _remembered(lambda epoch: order(len(rows), self.seed, first_epoch + epoch))
        object.__setattr__(self, "_order", in_order)

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in one pass over the rows."""
        return len(self.rows) // self.batch_size

    def batches(self, step: int, count: int) -> np.ndarray:
        """``[count, batch_size, G]`` int32, the ids of steps ``step .. step+count-1``; -1 = none."""
        _check_steps(step, count)
        parts = []
        while count:
            epoch, first = divmod(step, self.steps_per_epoch)
            steps = min(count, self.steps_per_epoch - first)
            parts.append(self._order(epoch)[first * self.batch_size : (first + steps) * self.batch_size])
            step, count = step + steps, count - steps
        return self.rows[np.concatenate(parts).reshape(-1, self.batch_size)]


@dataclasses.dataclass(frozen=True, eq=False)
class Packing(_Rows):
    """Several examples a row: packed once per seed, the rows shuffled anew in every epoch.

    Attributes:
      lengths, capacities, max_examples: as in `packed`.
      batch_size: rows in a batch.
      seed: of the replica.
      rows: ``[R, max_examples]``, `packed` in ``order(n, seed, 0)``.

    Raises:
      ValueError: of `packed`; fewer rows than ``batch_size``.
    """

    lengths: np.ndarray
    capacities: int | Sequence[int]
    max_examples: int
    batch_size: int
    seed: int

    def __post_init__(self) -> None:
        in_order = order(len(self.lengths), self.seed, 0)
        self._take(packed(self.lengths, self.capacities, self.max_examples, in_order), "rows", first_epoch=1)

    def padding_fraction(self) -> float:
        """Share of padding in all rows, both sides together."""
        return 1 - float(np.sum(self.lengths)) / (len(self.rows) * sum(_tuple(self.capacities)))


def least_rows(plan: Packing) -> int:
    """Rows that the examples of a packing take in whichever order."""
    lengths = _by_side(plan.lengths)
    by_tokens = -(-lengths.sum(axis=0, dtype=np.int64) // np.asarray(_tuple(plan.capacities)))
    return max(-(-len(lengths) // plan.max_examples), *by_tokens.tolist())


@dataclasses.dataclass(frozen=True, eq=False)
class Plain(_Rows):
    """One example a row, in an order of its own in every epoch.

    Raises:
      ValueError: fewer examples than ``batch_size``.
    """

    n: int
    batch_size: int
    seed: int

    def __post_init__(self) -> None:
        self._take(np.arange(self.n, dtype=np.int32)[:, None], "examples", first_epoch=0)


def fitted_widths(lengths: np.ndarray, row: int, batch_size: int, parts: int = 1, most: int = 10) -> tuple[int, ...]:
    """The widths, ``most`` of them at most, that leave the least padding when every example stands in the
    narrowest that holds it: a function of the lengths' histogram, found by dynamic programming.

    Args:
      lengths: ``[n]`` or ``[n, sides]``, tokens of each example, at least 1; the longer side counts.
      row, batch_size, parts: a batch has as many rows of a width as fit ``batch_size`` rows of ``row`` tokens, in
        ``parts`` equal parts. Widths that leave room in each of these rows are not considered: they could be wider at
        no cost.

    Raises:
      ValueError: an example is longer than ``row``; no example.
    """
    lengths = _by_side(lengths)
    if not len(lengths):
        raise ValueError("there is no example to fit widths to: use more text")
    _check_lengths(lengths, (row,) * lengths.shape[1], "row")
    held = np.bincount(lengths.max(axis=1), minlength=row + 1)
    tokens = batch_size * row
    widths = np.asarray(sorted({tokens // _rows(tokens, width, parts) for width in range(1, row + 1)}))
    widths = widths[: np.searchsorted(widths, held.nonzero()[0][-1]) + 1]  # the last holds the longest
    below = np.concatenate([[0], np.cumsum(held)[widths]])  # below[k + 1] examples are not longer than widths[k]
    # cost[k]: tokens, padding included, of all examples up to widths[k - 1], the last of the widths chosen so far.
    cost, chosen = np.full(len(widths) + 1, np.inf), []
    cost[0] = 0
    for _ in range(min(most, len(widths))):
        added = (below[None, 1:] - below[:, None]) * widths.astype(float)
        added[np.tri(len(widths) + 1, len(widths), -1, dtype=bool)] = np.inf  # widths grow
        total = cost[:, None] + added
        before = total.argmin(axis=0)
        chosen.append(before)
        cost = np.concatenate([[0], total[before, np.arange(len(widths))]])
    found, last = [], len(widths)
    for before in reversed(chosen):
        if last == 0:
            break
        found.append(int(widths[last - 1]))
        last = int(before[last - 1])
    return tuple(reversed(found))


def _rows(tokens: int, width: int, parts: int) -> int:
    return tokens // (width * parts) * parts


@dataclasses.dataclass(frozen=True, eq=False)
class Buckets:
    """Batches of examples of about one length, one example a row: less padding without packing.

    An example belongs to the narrowest width that holds it on every side. A batch of width ``w`` has
    ``batch_size * row // w`` rows (``row``: by default the widest), fewer where they would not make ``parts`` equal
    parts, so that all have about the same number of tokens. The steps of one call (``count`` of them) are of one width.
    Which widths come when depends on (lengths, epoch, count), never on the seed, so that replicas of all seeds run the
    same program at once; which examples they hold depends on the seed.

    What does not fill a call goes on to the next wider bucket, as do all of a bucket too small for one call; what then
    does not fill a call of the widest bucket with examples is left out of that epoch, others each time. If that bucket
    has not a single call, one of the next narrower is run at its width, so that the longest examples are seen.

    Raises:
      ValueError: a length below 1 or above the widest width; widths or batch_size below 1; ``parts`` does not divide
        ``batch_size``.
    """

    lengths: np.ndarray
    widths: Sequence[int]
    batch_size: int
    seed: int
    row: int | None = None
    parts: int = 1
    bucket_of: np.ndarray = dataclasses.field(init=False, repr=False)
    _calls: Callable[[int, int], tuple[np.ndarray, list[np.ndarray]]] = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        widths = tuple(sorted(set(_tuple(self.widths))))
        if not widths or widths[0] < 1:
            raise ValueError(f"widths {self.widths} of buckets must be positive, and at least one")
        if self.batch_size < 1:
            raise ValueError(f"batch_size {self.batch_size} is below 1")
        if self.parts < 1 or self.batch_size % self.parts:
            raise ValueError(f"batch_size {self.batch_size} does not make {self.parts} equal parts")
        lengths = _by_side(self.lengths)
        _check_lengths(lengths, (widths[-1],) * lengths.shape[1], "widest bucket")
        object.__setattr__(self, "widths", widths)
        object.__setattr__(self, "bucket_of", np.searchsorted(widths, lengths.max(axis=1)))
        object.__setattr__(self, "_calls", _remembered(self._calls_of_epoch))

    def rows(self, width: int) -> int:
        """Rows in a batch of this width."""
        return _rows(self.batch_size * (self.row or max(self.widths)), width, self.parts)

    def calls_per_epoch(self, count: int) -> dict[int, int]:
        """{width: calls of ``count`` steps} in an epoch.

        Raises:
          ValueError: too few examples for a single call.
        """
        held = np.bincount(self.bucket_of, minlength=len(self.widths))
        needed = [count * self.rows(width) for width in self.widths]
        widest = int(np.max(np.flatnonzero(held), initial=0))
        calls = [0] * len(self.widths)
        waiting = 0
        for bucket in range(widest + 1):
            waiting += int(held[bucket])
            calls[bucket], waiting = divmod(waiting, needed[bucket])
        if not calls[widest]:
            with_calls = [bucket for bucket in range(widest) if calls[bucket]]
            if not with_calls:
                raise ValueError(
                    f"{len(self.lengths)} examples do not fill a call of {count} steps, which takes "
                    f"{needed[widest]} at width {self.widths[widest]}: lower batch_size or steps_per_call"
                )
            calls[with_calls[-1]] -= 1
            calls[widest] = (waiting + needed[with_calls[-1]]) // needed[widest]
        return dict(zip(self.widths, calls))

    def steps_per_epoch(self, count: int) -> int:
        """Steps of an epoch of calls of ``count`` steps."""
        return count * sum(self.calls_per_epoch(count).values())

    def batches(self, step: int, count: int) -> tuple[int, np.ndarray]:
        """The width of steps ``step .. step+count-1``, and their ids, ``[count, rows(width), 1]`` int32.

        Raises:
          ValueError: ``step`` is not a multiple of ``count``.
        """
        _check_steps(step, count)
        if step % count:
            raise ValueError(
                f"step {step} is not a multiple of {count}, the steps of a call, which share one bucket: "
                f"ask from step {step - step % count}"
            )
        epoch, call = divmod(step // count, self.steps_per_epoch(count) // count)
        buckets, ids = self._calls(epoch, count)
        return self.widths[buckets[call]], ids[call].reshape(count, -1, 1)

    def _calls_of_epoch(self, epoch: int, count: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """The bucket of each call, and its ids."""
        waiting = order(len(self.lengths), self.seed, epoch)
        ids: list[np.ndarray] = []
        of_call: list[int] = []
        for bucket, (width, calls) in enumerate(self.calls_per_epoch(count).items()):
            chosen = np.flatnonzero(self.bucket_of[waiting] <= bucket)[: calls * count * self.rows(width)]
            ids.extend(waiting[chosen].astype(np.int32).reshape(calls, count * self.rows(width)))
            of_call.extend([bucket] * calls)
            waiting = np.delete(waiting, chosen)
        at = order(len(ids), _NO_SEED, epoch)
        return np.asarray(of_call)[at], [ids[call] for call in at]

    def padding_fraction(self, count: int) -> float:
        """Share of padding in the first epoch's batches, all sides together."""
        lengths = _by_side(self.lengths)
        buckets, ids = self._calls(0, count)
        tokens = sum(len(of_call) * self.widths[bucket] for bucket, of_call in zip(buckets, ids)) * lengths.shape[1]
        return 1 - float(lengths[np.concatenate(ids)].sum()) / tokens


def _check_steps(step: int, count: int) -> None:
    if step < 0 or count < 1:
        raise ValueError(f"steps {step} to {step + count - 1} do not exist: steps start at 0, and count at 1")


def _remembered(function: Callable) -> Callable:
    """The function, its last two results kept: calls of one epoch sort its order once."""
    return functools.lru_cache(maxsize=2)(function)
