"""Failed API attempts and the waits after them, against the interval a policy allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from loopaudit.model import Attempt, Run
from loopaudit.render.charts.style import (
    BLUE,
    GREEN,
    GREY,
    WASTE,
    counts,
    figure,
    legend,
    whole_steps,
)
from loopaudit.render.figures import count
from loopaudit.retry import DEFAULT, RetryPolicy, policy_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(slots=True)
class Retries:
    """One row an attempt."""

    rows: list[dict[str, Any]] = field(default_factory=list)


def retries(runs: Iterable[Run]) -> Retries:
    """Attempts of all runs. An attempt without number counts from the step's first one."""
    out = Retries()
    for run in runs:
        groups: list[tuple[int, Iterable[Attempt]]] = [(s.index, s.attempts) for s in run.steps]
        groups.append((len(run.steps), run.attempts_after))
        for step, attempts in groups:
            for place, attempt in enumerate(attempts, 1):
                out.rows.append(
                    {
                        "run": run.id,
                        "step": step + 1,
                        "number": attempt.number or place,
                        "class": attempt.error.value,
                        "http_status": attempt.http_status,
                        "wait": attempt.wait,
                        "retry_after": attempt.retry_after,
                        "gave_up": attempt.gave_up,
                        "at": attempt.at,
                    }
                )
    return out


def draw(data: Retries, of: str, policy: RetryPolicy = DEFAULT) -> Figure:
    """Waits by number of the retry; the band is what the policy allows. `of`: whose they are."""
    known = [row for row in data.rows if row["wait"] is not None]
    drawn, axes = figure(
        f"{count(len(data.rows), 'failed attempt')} and the waits after"
        f" {'it' if len(data.rows) == 1 else 'them'}: {of}",
        "the band is "
        f"{1 - policy.jitter:g} to {1 + policy.jitter:g} times min({policy.base:g} s × "
        f"{policy.factor:g}^(n-1), {policy.cap:g} s), at most {policy.retries} retries",
    )
    last = max((row["number"] for row in data.rows), default=policy.retries)
    numbers = list(range(1, max(last, policy.retries) + 1))
    band = [policy_interval(number, policy) for number in numbers]
    edges = [n - 0.5 for n in numbers] + [numbers[-1] + 0.5]
    axes.stairs(
        [high for _, high in band],
        edges,
        baseline=[low for low, _ in band],
        fill=True,
        color=GREEN,
        alpha=0.3,
        label="allowed wait",
    )
    axes.axvline(policy.retries + 0.5, color=WASTE, linestyle="--", label="end of the policy")
    silent = [row["number"] for row in data.rows if row["wait"] is None]
    if silent:
        axes.plot(
            silent,
            [0.02] * len(silent),
            transform=axes.get_xaxis_transform(),
            marker="d",
            linestyle="",
            color=GREY,
            label=f"wait not recorded ({len(silent):,})",
        )
    if known:
        inside = [r for r in known if _inside(r, policy)]
        outside = [r for r in known if not _inside(r, policy)]
        for rows, marker, colour, name in (
            (inside, "o", BLUE, "wait within"),
            (outside, "X", WASTE, "wait outside, or a retry too many"),
        ):
            if rows:
                axes.scatter(
                    [r["number"] for r in rows],
                    [r["wait"] for r in rows],
                    s=30,
                    marker=marker,
                    color=colour,
                    label=name,
                )
        if max(r["wait"] for r in known) > 20 * policy.base:
            axes.set_yscale("symlog", linthresh=policy.base)
            counts(axes)
    whole_steps(axes, 1, numbers[-1])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("number of the retry")
    axes.set_ylabel("seconds")
    legend(drawn, axes)
    return drawn


def _inside(row: dict[str, Any], policy: RetryPolicy) -> bool:
    low, high = policy_interval(row["number"], policy)
    return bool(row["number"] <= policy.retries and low <= row["wait"] <= high)
