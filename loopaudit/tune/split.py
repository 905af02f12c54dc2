"""Cuts the runs of a type in two: half to choose thresholds on, half to see whether they hold.

Runs of one session stay together. Where nearly all runs tell when they began, and over more than a
day, the later half is held out, as it will be in use; else whole projects, where there are at least
eight; else sessions. Which of these go where a digest of their names decides, so that it is always
the same, and in turns, so that healthy and stuck runs are shared evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from loopaudit.replay.standing import Standing
from loopaudit.tune.corpus import Sample

TIME, PROJECT, SESSION = "time", "project", "session"
WAYS = (TIME, PROJECT, SESSION)
_PROJECTS = 8
_MOST = 0.9
_DAY = 86_400.0


def way_of(samples: Sequence[Sample]) -> str:
    """How these runs are best cut."""
    times = [s.started for s in samples if s.started is not None]
    sessions = {s.session for s in samples}
    enough = times and len(times) >= _MOST * len(samples) and len(sessions) >= 4
    if enough and max(times) - min(times) > _DAY:
        return TIME
    projects = {s.project for s in samples if s.project is not None}
    known = sum(s.project is not None for s in samples)
    if known >= _MOST * len(samples) and len(projects) >= _PROJECTS:
        return PROJECT
    return SESSION


def split(samples: Sequence[Sample], way: str, seed: int = 0) -> tuple[list[int], list[int]]:
    """Numbers of the runs for training, and of those held out."""
    if way == TIME:
        return _by_time(samples)
    held = {key for key, number in _dealt(samples, way, seed).items() if number % 2}
    key = _key(way)
    training = [n for n, s in enumerate(samples) if key(s) not in held]
    return training, [n for n, s in enumerate(samples) if key(s) in held]


def parts(samples: Sequence[Sample], way: str, count: int, seed: int = 0) -> list[int]:
    """The part of each run, 0 to `count` - 1; what must stay together is in one part."""
    dealt, key = _dealt(samples, way, seed), _key(way)
    return [dealt[key(s)] % count for s in samples]


def _key(way: str) -> Callable[[Sample], str]:
    """What stays together: a project, or a session."""
    if way == PROJECT:
        return lambda s: s.session if s.project is None else s.project
    return lambda s: s.session


def _dealt(samples: Sequence[Sample], way: str, seed: int) -> dict[str, int]:
    """Each key with its place in the order in which they are dealt out: healthy ones first."""
    key = _key(way)
    stuck: dict[str, bool] = {}
    for one in samples:
        stuck[key(one)] = stuck.get(key(one), False) or one.standing is Standing.STUCK
    order = sorted(stuck, key=lambda name: (stuck[name], _digest(name, seed)))
    return {name: place for place, name in enumerate(order)}


def _by_time(samples: Sequence[Sample]) -> tuple[list[int], list[int]]:
    began: dict[str, float] = {}
    for one in samples:
        if one.started is not None:
            began[one.session] = min(one.started, began.get(one.session, one.started))
    order = sorted({s.session for s in samples}, key=lambda s: (began.get(s, float("inf")), s))
    early = set(order[: (len(order) + 1) // 2])
    training = [n for n, s in enumerate(samples) if s.session in early]
    return training, [n for n, s in enumerate(samples) if s.session not in early]


def _digest(name: str, seed: int) -> bytes:
    salt = f"{seed}/" if seed else ""
    return sha256(f"{salt}{name}".encode("utf-8", "replace")).digest()
