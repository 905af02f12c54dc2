"""The program: answers `--version` at once, and turns every way to end into one exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from loopaudit import __version__
from loopaudit.errors import ExitCode, LoopauditError

LONGEST = 2_000  # characters of a message: it may quote what was given


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line and exits. The one place where errors become exit codes."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _prepare_streams()
    _prepare_signals()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # whoever read our output has enough; nothing more must be flushed to it at exit
        _silence(sys.stdout)
        code = ExitCode.PASS
    except OSError as error:  # only the flush: output that can no longer be written
        _silence(sys.stdout)
        code = _say(f"cannot write: {error.strerror or error}", code=ExitCode.USAGE)
    try:
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)
    sys.exit(int(code))


def _run(arguments: list[str]) -> ExitCode | int:
    if arguments[:1] in (["--version"], ["-V"]):
        print(f"loopaudit {__version__}")
        return ExitCode.PASS
    try:
        from loopaudit.cli.app import run

        return run(arguments)
    except BrokenPipeError:
        raise
    except LoopauditError as error:
        return _say(error.message, error.hint, error.exit_code)
    except KeyboardInterrupt:
        return _say("interrupted", code=ExitCode.INTERRUPTED)
    except MemoryError:
        return _say("out of memory", "give fewer files, or --processes 1", ExitCode.INTERNAL)
    except OSError as error:  # a full disk, no more file handles: the machine, not the program
        _trace()
        full = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
        where = error.filename or ("cannot write" if full else "the system gives no more")
        return _say(f"{where}: {error.strerror or error}", code=ExitCode.USAGE)
    except Exception as error:
        _trace()
        return _broken(error)


def _broken(error: Exception) -> ExitCode:
    """A fault of loopaudit itself: one line to report."""
    frame, here = error.__traceback__, "?"
    while frame is not None:
        code = frame.tb_frame.f_code
        if f"{os.sep}loopaudit{os.sep}" in code.co_filename:
            here = f"{os.path.basename(code.co_filename)}:{frame.tb_lineno}"
        frame = frame.tb_next
    text = " ".join(str(error).split())[:200]
    return _say(
        f"internal error in {here}: {type(error).__name__}: {text}",
        f"please report this line with version {__version__};"
        " LOOPAUDIT_DEBUG=1 shows the traceback",
        ExitCode.INTERNAL,
    )


def _trace() -> None:
    if os.environ.get("LOOPAUDIT_DEBUG") == "1":
        import traceback

        traceback.print_exc()


def _say(message: str, hint: str = "", code: ExitCode = ExitCode.USAGE) -> ExitCode:
    """One line on stderr, and one for the hint; text from logs and paths made inert."""
    from loopaudit.render.text import inert

    try:
        print(f"loopaudit: {inert(message)[:LONGEST]}", file=sys.stderr)
        if hint:
            print(f"hint: {inert(hint)[:LONGEST]}", file=sys.stderr)
    except OSError:
        _silence(sys.stderr)
    return code


def _prepare_streams() -> None:
    """UTF-8 whatever the locale says; what cannot be encoded never ends the program."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _prepare_signals() -> None:
    """An end from outside goes the way of every other: workers and half-written files go too."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        default = (signal.SIG_DFL, signal.default_int_handler)
        if number is not None and signal.getsignal(number) in default:
            signal.signal(number, _ended)


def _ended(number: int, frame: FrameType | None) -> None:
    interrupted = number == signal.SIGINT
    while frame is not None:
        # some packages crash on an exception while they are imported; there is nothing to clear yet
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            with suppress(OSError):
                os.write(2, b"loopaudit: interrupted\n" if interrupted else b"")
            os._exit(128 + number)
        frame = frame.f_back
    if interrupted:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def _silence(stream: object) -> None:
    """Lets the flush at exit go nowhere, so that Python does not complain on its own."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())  # type: ignore[attr-defined]
        os.close(null)
    except (OSError, ValueError, AttributeError):
        pass


if __name__ == "__main__":
    main()
