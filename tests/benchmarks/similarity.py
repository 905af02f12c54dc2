"""Prints how the embedders judge `similarity_pairs.py`: `python -m tests.benchmarks.similarity`.

Thresholds are chosen on one half of the pairs and confirmed on the other. `bare` is the cosine
alone, `guarded` with the facts of `similarity.differs` first.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

from loopaudit.errors import UsageError
from loopaudit.similarity import cosine, differs, embedder, vector
from tests.similarity_pairs import CHOOSE, CONFIRM, PAIRS, Pair

Judge = Callable[[Pair], bool]


def main(names: Sequence[str]) -> None:
    for name in names:
        try:
            model = embedder(name)
        except UsageError as error:
            print(f"\n{name}: {error}")
            continue
        began = time.perf_counter()
        cosines = {p: cosine(vector(p.a, name), vector(p.b, name)) for p in PAIRS}
        spent = time.perf_counter() - began
        print(f"\n{name}: {len(PAIRS)} pairs, {2 * len(PAIRS) / spent:,.0f} short texts/s")
        print("  kind       lang   pairs  cosine min  median  max   guarded away")
        for kind, language in dict.fromkeys((p.kind, p.language) for p in PAIRS):
            some = [p for p in PAIRS if (p.kind, p.language) == (kind, language)]
            values = sorted(cosines[p] for p in some)
            away = sum(bool(differs(vector(p.a, name), vector(p.b, name))) for p in some)
            print(
                f"  {kind:10s} {language:6s} {len(some):4d}      {values[0]:6.2f}  "
                f"{values[len(values) // 2]:6.2f}  {values[-1]:5.2f}   {away:3d}"
            )
        for label, guarded in (("bare", False), ("guarded", True)):
            grid = [n / 100 for n in range(20, 100)]
            best = max(grid, key=lambda t: _f_half(CHOOSE, cosines, t, name, guarded))
            for threshold in dict.fromkeys((best, model.threshold, 0.92)):
                print(f"  {label:8s} > {threshold:.2f}", end="")
                for half, pairs in (("chosen on", CHOOSE), ("confirmed on", CONFIRM)):
                    hit, wrong, missed = _counts(pairs, cosines, threshold, name, guarded)
                    print(
                        f"   {half}: precision {hit}/{hit + wrong}, recall {hit}/{hit + missed}",
                        end="",
                    )
                print("   <- best" if threshold == best else "")


def _counts(
    pairs: Sequence[Pair], cosines: dict[Pair, float], threshold: float, name: str, guarded: bool
) -> tuple[int, int, int]:
    hit = wrong = missed = 0
    for pair in pairs:
        said = cosines[pair] > threshold
        if guarded and said:
            said = differs(vector(pair.a, name), vector(pair.b, name)) is None
        hit += said and pair.same
        wrong += said and not pair.same
        missed += pair.same and not said
    return hit, wrong, missed


def _f_half(
    pairs: Sequence[Pair], cosines: dict[Pair, float], threshold: float, name: str, guarded: bool
) -> float:
    """F-measure that weighs precision twice as much as recall: a false repeat stops a good run."""
    hit, wrong, missed = _counts(pairs, cosines, threshold, name, guarded)
    return 1.25 * hit / (1.25 * hit + 0.25 * missed + wrong) if hit else 0.0


if __name__ == "__main__":
    main(sys.argv[1:] or ("lexical", "semantic"))
