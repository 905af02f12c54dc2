"""loopaudit: an offline auditor of AI-agent transcripts.

`Guarded` puts the guards of the replay around a running agent; see `loopaudit.live.guarded`.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = ["Guarded", "__version__"]

#: public names, each loaded from its module when it is first asked for
_PUBLIC = {"Guarded": "loopaudit.live.guarded"}


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
