"""Keeps what is costly to make: bytes by key in one file of the user's cache folder.

It knows nothing of what it keeps. Whatever goes wrong with it (no folder, a full disk, a damaged
file, another process) costs what was kept, never the work at hand.
"""

from loopaudit.store.place import Place, read
from loopaudit.store.shelf import Shelf, clear

__all__ = ["Place", "Shelf", "clear", "read"]
