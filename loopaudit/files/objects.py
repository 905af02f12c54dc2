"""Object stores through `obstore`: what is there, bytes of it, and what went wrong in one line.

S3 takes its settings from where Amazon's own tools do: `AWS_ACCESS_KEY_ID` and its kin,
`AWS_PROFILE` and the files in `~/.aws` (through boto3, where it is installed), `AWS_REGION`,
`AWS_ENDPOINT_URL`. Google's and Azure's are read by `obstore` from their usual variables.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from loopaudit.errors import UsageError

_EXTRA = "pip install 'loopaudit[remote]'"
#: a store that is down is given up after about six seconds; one that asks to slow down, a minute
_RETRIES = {"max_retries": 6, "retry_timeout": timedelta(seconds=60)}
_CLIENT = {"connect_timeout": "10s", "timeout": "120s"}
_AZURE_HOST = re.compile(r"(?P<container>[^@]+)@(?P<account>[^.]+)\.")


@dataclass(frozen=True, slots=True)
class Object:
    url: str
    size: int
    etag: str | None
    mtime: float  # seconds since the epoch


#: what listings have told, by URL: an object is read as it was listed, or not at all
_known: dict[str, Object | None] = {}


def know(objects: list[Object]) -> None:
    """Take over what another process has listed."""
    _known.update((one.url, one) for one in objects)


def split(url: str) -> tuple[str, str]:
    """The root of a store (`s3://bucket`) and the key in it. Raises `OSError`."""
    scheme, _, rest = url.partition("://")
    host, _, key = rest.partition("/")
    if not host:
        raise OSError(errno.EINVAL, f"no bucket after {scheme}://")
    parts = posixpath.normpath(key) if ".." in key else key  # of a file looked for beside another
    return f"{scheme.lower()}://{host}", parts.lstrip("/")


def found(url: str) -> Object | None:
    """The object at `url` as it was listed; None if there is none. Raises `OSError`."""
    return _known[url] if url in _known else head(url)


def head(url: str) -> Object | None:
    """The object at `url` as it is now; None if there is none. Raises `OSError`."""
    root, key = split(url)
    try:
        meta = _ask(root, lambda: _store(root).head(key)) if key else None
    except FileNotFoundError:
        meta = None
    _known[url] = None if meta is None else _object(url, meta)
    return _known[url]


def listing(url: str) -> Iterator[Object]:
    """All objects under the folder `url`, at any depth, in the order of the store."""
    root, prefix = split(url)
    if root.startswith("http"):
        return
    chunks = _ask(root, lambda: _store(root).list(prefix.rstrip("/") or None, chunk_size=1000))
    while chunk := _ask(root, lambda: next(chunks, None)):
        for meta in chunk:
            one = _object(f"{root}/{meta['path']}", meta)
            _known[one.url] = one
            yield one


def fetch(one: Object, start: int, end: int) -> bytes:
    """Bytes of an object, which must not have changed since it was listed. Raises `OSError`."""
    root, key = split(one.url)
    options: dict[str, Any] = {}
    if end - start < one.size:
        options["range"] = (start, end)
    if one.etag is not None:
        options["if_match"] = one.etag
    data: bytes = _ask(root, lambda: bytes(_store(root).get(key, options=options).bytes()))
    if len(data) != end - start:
        raise OSError(errno.EIO, _CHANGED)
    return data


def content(url: str, most: int = -1) -> bytes:
    """All of an object, or its first `most` bytes. Raises `OSError`."""
    one = found(url)
    if one is None:
        raise FileNotFoundError(errno.ENOENT, "no such object")
    end = one.size if most < 0 else min(most, one.size)
    return fetch(one, 0, end) if end else b""


def put(url: str, path: str) -> None:
    """Write the file at `path` to an object, large ones in parts. Raises `OSError`."""
    root, key = split(url)
    with open(path, "rb") as file:
        _ask(root, lambda: _store(root).put(key, file))
    _known.pop(url, None)


def _object(url: str, meta: Any) -> Object:
    return Object(url, meta["size"], meta["e_tag"], meta["last_modified"].timestamp())


# -- the client -----------------------------------------------------------------------------------


@cache
def _store(root: str) -> Any:
    try:
        from obstore import store
    except ImportError:
        raise UsageError(f"{root}: object stores need obstore", _EXTRA) from None
    scheme, _, host = root.partition("://")
    options: dict[str, Any] = {"client_options": dict(_CLIENT), "retry_config": dict(_RETRIES)}
    if scheme in ("s3", "s3a"):
        return _s3(store, host, options)
    if scheme in ("gs", "gcs"):
        return store.GCSStore(host, **options)
    if scheme in ("http", "https"):
        options["client_options"]["allow_http"] = scheme == "http"
        return store.HTTPStore.from_url(root, **options)
    named = _AZURE_HOST.match(host)
    if named is not None:
        return store.AzureStore(named["container"], account_name=named["account"], **options)
    return store.AzureStore(host, **options)


def _s3(store: Any, bucket: str, options: dict[str, Any]) -> Any:
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    unsigned = os.environ.get("AWS_SKIP_SIGNATURE", "").lower() in ("1", "true", "yes")
    if not unsigned and not os.environ.get("AWS_ACCESS_KEY_ID"):
        session = _boto3_session()
        if session is not None:
            from obstore.auth.boto3 import Boto3CredentialProvider

            if session.get_credentials() is None:
                raise PermissionError(errno.EACCES, _NO_CREDENTIALS)
            options["credential_provider"] = Boto3CredentialProvider(session)
            client = session.client("s3", region_name=region)
            region = region or session.region_name
            if not client.meta.endpoint_url.rstrip("/").endswith("amazonaws.com"):
                endpoint = endpoint or client.meta.endpoint_url
    if endpoint is not None:
        options["endpoint"] = endpoint.rstrip("/")
        options["client_options"]["allow_http"] = endpoint.startswith("http://")
    if region is not None:
        options["region"] = region
    return store.S3Store(bucket, **options)


def _boto3_session() -> Any:
    """A session of boto3, which knows profiles, SSO and roles; None where it is not installed."""
    try:
        import boto3
    except ImportError:
        return None
    try:
        return boto3.Session()
    except Exception as error:  # a profile that is not there, a broken file
        raise PermissionError(errno.EACCES, f"AWS settings: {_line(str(error))}") from None


# -- what went wrong ------------------------------------------------------------------------------

_CHANGED = "the object changed while it was read"
_NO_CREDENTIALS = (
    "no AWS credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE or ~/.aws; AWS_SKIP_SIGNATURE=true for a "
    "public bucket)"
)
#: code of the store -> number and words
_CODES: dict[str, tuple[int, str]] = {
    "NoSuchBucket": (errno.ENOENT, "no such bucket"),
    "ContainerNotFound": (errno.ENOENT, "no such container"),
    "NoSuchKey": (errno.ENOENT, "no such object"),
    "BlobNotFound": (errno.ENOENT, "no such object"),
    "AccessDenied": (errno.EACCES, "access denied"),
    "AllAccessDisabled": (errno.EACCES, "access denied"),
    "AuthorizationFailure": (errno.EACCES, "access denied"),
    "SignatureDoesNotMatch": (errno.EACCES, "the credentials are not accepted"),
    "InvalidAccessKeyId": (errno.EACCES, "the credentials are not accepted"),
    "AuthenticationFailed": (errno.EACCES, "the credentials are not accepted"),
    "InvalidToken": (errno.EACCES, "the credentials are not accepted"),
    "ExpiredToken": (errno.EACCES, "the credentials have expired"),
    "RequestTimeTooSkewed": (errno.EACCES, "the clock of this machine is wrong"),
    "InvalidObjectState": (errno.EACCES, "in cold storage, restore it first"),
    "PreconditionFailed": (errno.EIO, _CHANGED),
    "ConditionNotMet": (errno.EIO, _CHANGED),
    "InvalidRange": (errno.EIO, _CHANGED),
    "SlowDown": (errno.EAGAIN, "the store asks to slow down"),
}
_REGION = ("AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraint")
_CODE = re.compile(r"<Code>(\w+)</Code>|\"(?:code|reason)\": ?\"(\w+)\"")
_EXPECTED = re.compile(r"expecting '([\w-]+)'")
_STATUS = re.compile(r"status code: (\d{3})")
_PLACE = re.compile(r"(https?://[^/\s,]+)")
_BY_STATUS = {
    401: (errno.EACCES, "the credentials are not accepted"),
    403: (errno.EACCES, "access denied"),
    404: (errno.ENOENT, "no such object"),
    412: (errno.EIO, _CHANGED),
    416: (errno.EIO, _CHANGED),
}


#: a store that could not be reached is left alone for so long: not every object waits for it anew
_PAUSE = 30.0  # seconds
_down: dict[str, tuple[float, OSError]] = {}


def _ask(root: str, do: Any) -> Any:
    """The answer of the store. What its client raises becomes an `OSError`."""
    since, problem = _down.get(root, (0.0, None))
    if problem is not None and time.monotonic() < since + _PAUSE:
        raise problem.with_traceback(None)
    try:
        return do()
    except OSError as error:
        if error.errno is not None:  # ours
            raise
        number, text = _words(str(error), errno.ENOENT)
    except (UsageError, MemoryError):
        raise
    except Exception as error:  # the client's own types, in which each store says it differently
        number, text = _words(str(error), errno.EIO)
    problem = OSError(number, text)
    if number == errno.EHOSTUNREACH:
        _down[root] = time.monotonic(), problem
    raise problem from None


def _words(told: str, number: int) -> tuple[int, str]:
    """Number and words of a failure, from what the client says over many lines."""
    code = next((a or b for a, b in _CODE.findall(told)), "")
    status = int(match[1]) if (match := _STATUS.search(told)) else 0
    if code in _REGION or "without LOCATION" in told:
        right = _EXPECTED.search(told)
        which = f"AWS_REGION={right[1]}" if right else "AWS_REGION"
        return errno.EINVAL, f"the bucket is in another region: set {which}"
    if code in _CODES:
        number, text = _CODES[code]
        return number, text if number in (errno.ENOENT, errno.EIO) else f"{text} ({code})"
    if "invalid path" in told or "illegal character" in told:
        key = match[1] if (match := re.search(r'Path "([^"]*)"', told)) else ""
        return errno.EINVAL, f"a key with an empty or dotted part cannot be read: {key!r}"
    if "169.254.169.254" in told or "metadata.google" in told:
        return errno.EACCES, "no credentials (none set, and no role of this machine answers)"
    if "Range request not supported" in told:
        return errno.EOPNOTSUPP, "the server gives no parts of a file; download it first"
    if "Account must be specified" in told:
        return errno.EINVAL, "set AZURE_STORAGE_ACCOUNT_NAME"
    if status in _BY_STATUS:
        number, text = _BY_STATUS[status]
        return number, text if number != errno.EACCES else f"{text} ({status})"
    if "error sending request" in told or "HTTP error" in told or "timed out" in told:
        where = match[1] if (match := _PLACE.search(told)) else "the store"
        return errno.EHOSTUNREACH, f"{where} cannot be reached"
    if status:
        return number, f"the store answers {status}{f' ({code})' if code else ''}"
    return number, _line(told.partition("Debug source")[0])


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
