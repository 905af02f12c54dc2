"""Advice as JSON (one document), and the whole trade as CSV and Parquet: one value a row."""

from __future__ import annotations

import csv
import json
import math
from typing import Any, BinaryIO, TextIO

from loopaudit.findings import Report
from loopaudit.render.text import inert, json_inert, valid
from loopaudit.tune.advice import Advice, Figures, Together, Trade
from loopaudit.tune.dimensions import Choice
from loopaudit.tune.statistics import CONFIDENCE, RESAMPLES, SEED
from loopaudit.tune.tune import Tuning

SCHEMA_VERSION = "1"


def write_json(tuning: Tuning, report: Report, stream: TextIO) -> None:
    document = {
        "schema_version": SCHEMA_VERSION,
        "tool_version": report.tool_version,
        "corpus": {
            "digest": tuning.digest,
            "runs": tuning.runs,
            "left_out": tuning.left_out,
            "completeness": report.totals.completeness,
            "reasons": report.totals.reasons,
        },
        "options": {
            "max_false_stops": tuning.options.max_false_stops,
            "max_false_warns": tuning.options.max_false_warns,
            "false_stop_cost": tuning.options.false_stop_cost,
            "warnings_heeded": tuning.options.warnings_heeded,
            "false_warn_cost": tuning.options.false_warn_cost,
            "min_runs": tuning.options.min_runs,
        },
        "statistics": {"confidence": CONFIDENCE, "resamples": RESAMPLES, "seed": SEED},
        "advice": [_advice(one) for one in tuning.advice],
    }
    stream.write(json_inert(json.dumps(document, indent=1, ensure_ascii=False)) + "\n")


def _advice(one: Advice) -> dict[str, Any]:
    return {
        "task_type": one.task_type,
        "guard": one.guard,
        "unit": one.unit,
        "replayed": one.replayed,
        "runs": {
            "healthy": one.healthy,
            "stuck": one.stuck,
            "with_loop": one.with_loop,
            "by": one.by,
            "left_out": one.left_out,
            "needed_to_prove": one.needed or None,
        },
        "hold_out": one.way,
        "undecidable": one.undecidable,
        "refused": one.refused or None,
        "together": None if one.together is None else _together(one.together),
        "stops": [_trade(trade) for trade in one.trades],
        "warnings": [_trade(trade) for trade in one.warns],
    }


def _together(one: Together) -> dict[str, Any]:
    holds = one.holds
    return {
        "pays": one.pays,
        "held_out": one.held,
        "advised": one.advised,
        "combinations": {"tried": one.tried, "all": one.everything},
        "cross_validation": {
            "healthy_interrupted": one.left_out[0],
            "healthy": one.left_out[1],
            "thresholds_lowered_at_most": one.lowered,
            "margin": one.margin,
        },
        "holds_for_false_stop_costs": None
        if holds is None
        else {"from": _number(holds[0]), "to": _number(holds[1])},
        "now": {name: _figures(figures) for name, figures in one.now.items()},
        "best": {name: _figures(figures) for name, figures in one.best.items()},
        "front": [
            {
                "healthy_interrupted": score.healthy,
                "healthy_warned": score.warned_healthy,
                "saved": _number(score.saved),
                "saved_if_warnings_heeded": _number(score.more),
                "spent_again": _number(score.spent),
                "thresholds": {name: _choice(choice) for name, choice in chosen.items()},
            }
            for chosen, score in one.front
        ],
    }


def _trade(one: Trade) -> dict[str, Any]:
    dimension = one.dimension
    return {
        "signal": dimension.signal,
        "waits": dimension.poll,
        "level": dimension.level,
        "unit": dimension.unit,
        "over": dimension.over,
        "option": dimension.option,
        "now": _choice(dimension.choices[dimension.now]),
        "recommended": _choice(one.recommended),
        "best_to_choose_by": _choice(one.best),
        "best_alone": None if one.alone is None else _choice(one.alone),
        "kept_because": one.kept or None,
        "rows": [
            {**_choice(row.choice), "now": row.now, "recommended": row.recommended}
            | _figures(row.figures)
            for row in one.rows
        ],
    }


def _choice(choice: Choice) -> dict[str, Any]:
    found: dict[str, Any] = {"threshold": choice.threshold}
    if choice.option is not None:
        found["option_value"] = choice.option
    return found


def _figures(made: Figures) -> dict[str, Any]:
    return {
        "stopped": made.score.stopped,
        "stuck_stopped": made.score.stuck,
        "stuck": made.stuck,
        "loops_caught": made.score.caught,
        "loops": made.with_loop,
        "loops_caught_share": _number(made.caught),
        "loops_caught_between": _pair(made.caught_between),
        "healthy_interrupted": made.score.healthy,
        "healthy": made.healthy,
        "false_stops": _number(made.false_stops),
        "false_stops_between": _pair(made.false_stops_between),
        "saved_at_most": _number(made.score.saved),
        "spent_again": _number(made.score.spent),
        "net": _number(made.net),
        "net_between": None if made.net_between is None else _pair(made.net_between),
        "healthy_warned": made.score.warned_healthy,
        "loops_warned": made.score.warned_caught,
        "saved_if_warnings_heeded": _number(made.score.more),
        "warnings_worth": _number(made.worth),
        "right": _number(made.right),
        "by_length": _number(made.by_length),
    }


def _pair(pair: tuple[float, float]) -> list[float | int | None]:
    return [_number(value) for value in pair]


def _number(value: float | None) -> float | int | None:
    """JSON has no infinity; what is whole is written so, all else to 9 digits."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if value == int(value) else float(f"{value:.9g}")


# -- rows -----------------------------------------------------------------------------------------

COLUMNS = (
    *("task_type", "guard", "signal", "waits", "level", "threshold_unit", "threshold", "option"),
    *("option_value", "now", "recommended", "amount_unit", "stopped", "stuck_stopped", "stuck"),
    *("loops_caught", "loops", "healthy_interrupted", "healthy", "false_stops", "false_stops_low"),
    *("false_stops_high", "saved_at_most", "spent_again", "net", "right", "by_length"),
)


def rows(tuning: Tuning) -> list[dict[str, Any]]:
    """Every value of every threshold, all other thresholds at "never"."""
    return [
        _record(one, trade, row.choice, row.now, row.recommended, row.figures)
        for one in tuning.advice
        for trade in (*one.trades, *one.warns)
        for row in trade.rows
    ]


def _record(
    one: Advice, trade: Trade, choice: Choice, now: bool, recommended: bool, made: Figures
) -> dict[str, Any]:
    low, high = made.false_stops_between
    values = (
        one.task_type, one.guard, trade.dimension.signal, trade.dimension.poll,
        str(trade.dimension.level), trade.dimension.unit, choice.threshold, trade.dimension.option,
        choice.option, now, recommended, str(one.unit), made.score.stopped, made.score.stuck,
        made.stuck, made.score.caught, made.with_loop, made.score.healthy, made.healthy,
        _number(made.false_stops), _number(low), _number(high), _number(made.score.saved),
        _number(made.score.spent), _number(made.net), _number(made.right),
        _number(made.by_length),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def write_csv(tuning: Tuning, stream: TextIO) -> None:
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows(tuning):
        writer.writerow({key: _cell(value) for key, value in row.items()})


def _cell(value: Any) -> Any:
    """Spreadsheets take a text that begins like a formula for one."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        value = inert(value)
        return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
    return value


def write_parquet(tuning: Tuning, stream: BinaryIO) -> None:
    from io import BytesIO

    import polars

    kinds: dict[str, Any] = dict.fromkeys(COLUMNS, polars.Float64)
    texts = ("task_type", "guard", "signal", "level", "threshold_unit", "option", "amount_unit")
    counts = ("stopped", "stuck_stopped", "stuck", "loops_caught", "loops", "healthy_interrupted",
              "healthy")  # fmt: skip
    kinds |= dict.fromkeys(texts, polars.String) | dict.fromkeys(counts, polars.Int64)
    kinds |= dict.fromkeys(("waits", "now", "recommended"), polars.Boolean)
    table = [
        {key: valid(v) if isinstance(v, str) else v for key, v in row.items()}
        for row in rows(tuning)
    ]
    whole = BytesIO()  # the engine hides errors of the stream in its own
    polars.DataFrame(table, schema=kinds, strict=False).write_parquet(whole)
    stream.write(whole.getbuffer())
