"""Where a run last moved on: did anything change between these two calls?"""

from __future__ import annotations

from loopaudit.detectors.base import OK
from loopaudit.model import Call, Target

NEVER = -1


class Progress:
    """Positions (flat call indices) of successful state changes, by file where one is named.

    - Only a success counts; a failed edit changes nothing.
    - A change counts once: a call done before with the same answer brings back a state that was
      there (A→B→A), or sends the same message again.
    - Progress in one file is none for another. A change without a known file (a shell command, a
      sub-agent) may have touched any, and a call without one (a test run) may depend on any.
    - A change below a folder is progress for calls on that folder.
    """

    __slots__ = ("_done", "_files", "_unknown", "anywhere")

    def __init__(self) -> None:
        self._done: set[int] = set()
        self._files: dict[str, int] = {}  # file, and each folder above it -> last change
        self._unknown = NEVER  # last change without a known file
        self.anywhere = NEVER  # the last change of all

    def note(self, call: Call) -> bool:
        """Take in an answered call that changes state or starts an agent. True if it is news."""
        result = call.result_key
        if call.status is not OK or result is None:
            return False
        stamp = call.key ^ result
        if stamp in self._done:
            return False
        self._done.add(stamp)
        index = self.anywhere = call.index
        if call.target is None:
            self._unknown = index
        else:
            for path in _with_folders(call.target.path):
                self._files[path] = index
        return True

    def since(self, index: int, target: Target | None) -> bool:
        """Whether there was progress for a call on `target` after the call at `index`."""
        if index >= self.anywhere:
            return False
        if target is None or index < self._unknown:
            return True
        return self._files.get(target.path.rstrip("/") or "/", NEVER) > index

    def forget(self) -> None:
        """A real user message: a new request, counted from the start."""
        self._done.clear()
        self._files.clear()
        self._unknown = self.anywhere = NEVER


def _with_folders(path: str) -> list[str]:
    path = path.rstrip("/") or "/"
    paths = [path]
    while (cut := path.rfind("/")) > 0:
        path = path[:cut]
        paths.append(path)
    return paths
