"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test touches the user's cache; those of one worker share one, as runs of a user do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOPAUDIT_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "loopaudit"))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The material beside the checkout: corpus, cases, labelled runs. Not with a user."""
    folder = ROOT.parent / "shared"
    if not (folder / "corpus").is_dir():
        pytest.skip("the corpus is not beside this checkout")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that ask for `shared` are the corpus checks."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("corpus")
