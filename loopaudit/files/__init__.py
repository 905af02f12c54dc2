"""Files, on this machine or in an object store: what names one, and how it is opened.

Whatever goes wrong is an `OSError`, as with a local file; `reason` has it in words.
"""

from __future__ import annotations

import os
from typing import Any

from loopaudit.files.evidence import note

#: schemes of object stores, and of web servers (single files)
SCHEMES = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "http", "https")


def is_remote(path: str) -> bool:
    """Whether `path` is a URL of something that is not on this machine."""
    scheme, mark, _ = path.partition("://")
    return bool(mark) and scheme.lower() in SCHEMES


def local(path: str) -> str:
    """The path that a `file:` URL names; any other as it is."""
    if not path.startswith("file://"):
        return path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return url2pathname(urlsplit(path).path)


def opened(path: str) -> Any:
    """An unbuffered binary stream that can seek. Raises `OSError`."""
    note(path)
    if is_remote(path):
        from loopaudit.files import streams

        return streams.opened(path)
    return open(path, "rb", buffering=0)


def opened_at(path: str, offset: int) -> Any:
    """A buffered stream of a few lines, beside one that is read through. Raises `OSError`."""
    note(path)
    if is_remote(path):
        from loopaudit.files import streams

        return streams.near(path, offset)
    stream = open(path, "rb")  # noqa: SIM115
    stream.seek(offset)
    return stream


def whole(path: str, most: int = -1) -> bytes:
    """The content, or the first `most` bytes. Raises `OSError`."""
    note(path)
    if is_remote(path):
        from loopaudit.files import objects

        return objects.content(path, most)
    with open(path, "rb") as file:
        return file.read(most)


def begins_with(path: str, magic: bytes) -> bool:
    """False also where it cannot be read: that is told when it is."""
    try:
        with opened(path) as file:
            return bool(file.read(len(magic)) == magic)
    except OSError:
        return False


def is_file(path: str) -> bool:
    note(path)
    if is_remote(path):
        from loopaudit.files import objects

        return objects.found(path) is not None
    return os.path.isfile(path)


def reason(error: OSError) -> str:
    """Why it failed, in words that go on a sentence."""
    text = error.strerror or str(error) or type(error).__name__
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
