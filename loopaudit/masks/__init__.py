"""Masks volatile parts of a tool result, so that two results that differ only in them are equal.

Masked: points of time, durations and rates, pids, ports, addresses, UUIDs and other machine-made
ids, temporary paths, counters of attempts. Everything else is content and stays: counts, percent,
sizes, file names, line numbers, versions, amounts. Where both readings are possible these decide:

- A *time* is masked. A bare date (`due 2026-03-01`) is content, unless its key is a stamp
  (`updated_at`). `12:34` is a time only after a date, in brackets, after `at` or with am/pm:
  elsewhere it may be line and column. A bare epoch number needs a time-like key.
- A *duration* needs a unit or a name (`took`, `elapsed`); a setting (`timeout 30s`) is content.
  `7 minutes` alone is content, `7 minutes ago` is not.
- A *port* below 1000 is a known service and content. Four numbers after `v`, `@`, `=`, `-` are a
  version, no address.
- An *id* of a message, request, trace, session or run is masked whatever it looks like. Any other
  id (`id`, `order_id`) is masked if it looks machine-made: a UUID, a ULID, 12 or more hex digits,
  mixed letters and digits, 15 or more digits, a short prefix as in `m-101`. A small number or
  `ORD-4711` is content, unless the whole text is a short acknowledgement (`{"ok":true,"id":4711}`,
  `Created issue #4711`): doing it once more is a repeat, whatever number it got.
- A *hash of content* (git commit, md5, sha256, `sum  file`) is content: it changes only when
  something changed. Bare runs of 12, 16, 24 or 64 hex digits without such a label are ids of
  containers, spans, records; other lengths may be data.

Speed: a mask runs only where the text's `shape` hints at it, and all repeats are bounded, so that
the time is linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopaudit.masks.chinese import mask_chinese
from loopaudit.masks.ids import mask_ids
from loopaudit.masks.keyed import mask_values
from loopaudit.masks.labels import mask_counted, mask_forms, mask_labels
from loopaudit.masks.places import mask_addresses, mask_paths, mask_ports
from loopaudit.masks.shape import hints, shape_of
from loopaudit.masks.times import mask_clocks, mask_durations, mask_rates, mask_vague
from loopaudit.masks.user import Masks, Place, check_settings

__all__ = ["Masks", "from_settings", "mask"]


def mask(text: str) -> str:
    """`text` with its volatile parts replaced by marks such as `<time>`. Never raises."""
    raw = text.encode("utf-8", "surrogatepass")
    shape = shape_of(raw)
    if b"0" not in shape and b"tmp" not in shape and "第" not in text:
        return text
    may_hold = hints(shape)
    if "clock" in may_hold or b"--:--:--" in shape:
        text = mask_clocks(text, shape)
    text = mask_ids(text, raw, shape)
    text = mask_values(text)
    if "label" in may_hold:
        text = mask_labels(text, shape)
    if "counted" in may_hold:
        text = mask_counted(text)
    if "form" in may_hold:
        text = mask_forms(text)
    if "address" in may_hold:
        text = mask_addresses(text)
    if "port" in may_hold:
        text = mask_ports(text)
    text = mask_paths(text, shape)
    if not text.isascii():
        text = mask_chinese(text, shape)
    if "rate" in may_hold:
        text = mask_rates(text)
    if "duration" in may_hold:
        text = mask_durations(text, shape)
    if b"about a" in shape:
        text = mask_vague(text)
    return text


def from_settings(table: Mapping[str, Any], place: Place | None = None) -> Masks:
    """A masking function with the patterns of the settings table `[masks]`.

    `place(key)` tells path and line of a setting. Raises `ConfigError` on a bad or slow pattern.
    """
    extra, keep = check_settings(table, place)
    return Masks(mask, extra, keep)
