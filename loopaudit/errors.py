"""Every error a user can meet, each with a hint, and the exit codes."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes, the same in every output format."""

    PASS = 0
    LIMIT = 1  # a limit is broken, or a regression
    USAGE = 2  # usage, configuration, or no named input can be opened
    UNKNOWN = 3  # cannot say: nothing measured, partial under --strict, unpriced, too few runs
    INTERNAL = 4  # loopaudit or an extension broke
    INTERRUPTED = 130


class LoopauditError(Exception):
    """An error with one clear line for the user and a hint what to do."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(LoopauditError):
    """A flag or an argument that cannot be used as given."""


class ConfigError(LoopauditError):
    """A setting that cannot be used; the message starts with `path:line`."""

    def __init__(self, message: str, hint: str = "", *, path: str = "", line: int | None = None):
        place = f"{path}:{line}: " if path and line else f"{path}: " if path else ""
        super().__init__(place + message, hint)


class InputError(LoopauditError):
    """An input that cannot be opened or read at all."""


class UnknownFormatError(InputError):
    """No reader knows this log."""


class NothingMeasured(LoopauditError):
    """The inputs hold nothing that could be judged."""

    exit_code = ExitCode.UNKNOWN


class ExtensionError(LoopauditError):
    """A reader, detector or preset that broke; the message names its owner."""

    exit_code = ExitCode.INTERNAL
