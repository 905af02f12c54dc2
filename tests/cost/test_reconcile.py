"""Logs beside a provider's export: differences by day and model, and what no log explains.

Exports are made up here, in the columns of the consoles.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from billing import Record, audited, book, log, run, said, settings

from loopaudit.cost.exports import Export, read_export
from loopaudit.cost.reconcile import Line, Reconciliation, reconcile
from loopaudit.errors import ConfigError, InputError
from loopaudit.money import pico
from loopaudit.settings import Settings, load

ANTHROPIC_USAGE = (
    "usage_date_utc,model_version,api_key,workspace,usage_type,context_window,"
    "usage_input_tokens_no_cache,usage_input_tokens_cache_write_5m,"
    "usage_input_tokens_cache_write_1h,usage_input_tokens_cache_read,usage_output_tokens,"
    "web_search_count,inference_geo,speed\n"
)
ANTHROPIC_COST = (
    "usage_date_utc,model,workspace,api_key,usage_type,context_window,token_type,cost_usd,"
    "list_price_usd,cost_type,inference_geo,speed\n"
)
OPENAI_USAGE = (
    "start_time,end_time,start_time_iso,end_time_iso,project_id,num_model_requests,user_id,"
    "api_key_id,model,batch,input_tokens,output_tokens,input_cached_tokens\n"
)
OPENAI_COST = (
    "start_time,end_time,start_time_iso,end_time_iso,amount_value,amount_currency,line_item\n"
)


def export(folder: Path, text: str, chosen: Settings | None = None) -> Export:
    path = folder / "export.csv"
    path.write_text(text, encoding="utf-8")
    return read_export(str(path), chosen or settings())


def compared(
    folder: Path, text: str, *records: Record, chosen: Settings | None = None
) -> Reconciliation:
    chosen = chosen or settings()
    _, runs = audited(log(folder, "log", [run("r"), *records]), chosen=chosen)
    return reconcile(runs, export(folder, text, chosen), chosen, book(chosen))


def line(found: Reconciliation, day: str) -> Line:
    (only,) = [entry for entry in found.lines if entry.day == day]
    return only


# -- reading exports ------------------------------------------------------------------------------


def test_usage_of_anthropic(tmp_path: Path) -> None:
    rows = (
        "2026-05-01,claude-opus-4-5-20251101,k1,Default,standard,≤ 200k,100,20,3,4000,50,0,,\n"
        "2026-05-01,claude-opus-4-5-20251101,k2,Default,standard,≤ 200k,1,0,0,0,2,0,,\n"
    )
    found = export(tmp_path, ANTHROPIC_USAGE + rows)
    (billed,) = found.billed.values()
    assert (billed.tokens, billed.pico) == (4_173 + 3, None)
    assert (found.has_tokens, found.has_money, found.unreadable) == (True, False, [])


def test_cost_of_anthropic(tmp_path: Path) -> None:
    rows = (
        "2026-05-01,Claude Opus 4.5,Default,k,message,≤ 200k,input_no_cache,0.05,0.05,token,,\n"
        "2026-05-01,Claude Opus 4.5,Default,k,message,≤ 200k,output,1.25,1.25,token,,\n"
    )
    found = export(tmp_path, ANTHROPIC_COST + rows)
    assert {key: b.pico for key, b in found.billed.items()} == {
        ("2026-05-01", "Claude Opus 4.5"): pico(Decimal("1.30"))
    }
    assert not found.has_tokens


def test_usage_of_openai_has_the_cached_tokens_inside_the_input(tmp_path: Path) -> None:
    rows = (
        "1777593600,1777597200,2026-05-01T00:00:00+00:00,2026-05-01T01:00:00+00:00,p,3.0,u,k,"
        "gpt-5,False,10000.0,500.0,8000.0\n"
    )
    found = export(tmp_path, OPENAI_USAGE + rows)
    (billed,) = found.billed.values()
    assert billed.tokens == 10_500
    assert (billed.usage.fresh_input, billed.usage.cache_read) == (2_000, 8_000)


def test_costs_of_openai_name_the_model_in_the_line_item(tmp_path: Path) -> None:
    rows = (
        '1777593600,1777680000,2026-05-01T00:00:00+00:00,,0.5,usd,"gpt-5-2025-08-07, input"\n'
        '1777593600,1777680000,2026-05-01T00:00:00+00:00,,0.25,usd,"gpt-5-2025-08-07, output"\n'
        "1777593600,1777680000,2026-05-01T00:00:00+00:00,,2,eur,gpt-5\n"
    )
    found = export(tmp_path, OPENAI_COST + rows)
    assert {key: b.pico for key, b in found.billed.items()} == {
        ("2026-05-01", "gpt-5-2025-08-07"): pico(Decimal("0.75"))
    }
    assert found.unreadable == [(4, "not in USD: 'eur'")]


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("2026-05-01", "2026-05-01"),
        ("2026/5/1", "2026-05-01"),
        ("2026-05-01T23:30:00Z", "2026-05-01"),
        ("2026-05-01T23:30:00-05:00", "2026-05-02"),
        ("2026-05-01 13:00", "2026-05-01"),
        ("1777593600", "2026-05-01"),
        ("1777593599.0", "2026-04-30"),
    ],
)
def test_days(tmp_path: Path, cell: str, day: str) -> None:
    found = export(tmp_path, f"date,model,cost\n{cell},m1,1\n")
    assert [key[0] for key in found.billed] == [day]


@pytest.mark.parametrize(
    "row",
    ["01/05/2026,m1,1", "soon,m1,1", ",m1,1", "2026-13-01,m1,1", "2026-05-01,m1,NaN",
     "2026-05-01,m1,one", "2026-05-01,m1,1e999"],
)  # fmt: skip
def test_rows_that_cannot_be_read_are_named_with_their_line(tmp_path: Path, row: str) -> None:
    found = export(tmp_path, f"date,model,cost\n2026-05-01,m1,1\n\n{row}\n")
    assert [number for number, _ in found.unreadable] == [4]
    assert sum(b.pico or 0 for b in found.billed.values()) == pico(Decimal(1))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no column for the day"),
        ("model,cost\nm1,1\n", "no column for the day"),
        ("date,cost\n2026-05-01,1\n", "no column for the model"),
        ("date,model\n2026-05-01,m1\n", "no column with tokens or cost"),
    ],
)
def test_a_file_that_is_no_export(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        export(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_export(str(tmp_path / "none.csv"), settings())


def test_columns_as_settings_name_them(tmp_path: Path) -> None:
    reconcile_table = {"day": "Tag", "model": "Modell", "cost": "Betrag"}
    found = export(
        tmp_path,
        "\ufeffTag,Modell,Betrag,cost\n2026-05-01,m1,$1\n",
        settings(reconcile=reconcile_table),
    )
    assert [b.pico for b in found.billed.values()] == [pico(Decimal(1))]


def test_a_column_that_is_not_there_names_the_setting(tmp_path: Path) -> None:
    (tmp_path / "loopaudit.toml").write_text('[reconcile]\nday = "Tag"\n')
    with pytest.raises(ConfigError, match=r"loopaudit.toml:2: .*no column 'Tag'"):
        export(tmp_path, "date,model,cost\n", load(folder=tmp_path, environment={}))


# -- comparing ------------------------------------------------------------------------------------

MILLION = 1_000_000


def test_difference_by_day_and_model_and_what_no_log_explains(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        "date,model,cost,total_tokens\n"
        "2026-05-01,m1,3,3000000\n"  # the logs have $2
        "2026-05-02,m1,4,4000000\n"  # no log
        "2026-05-03,m1,1,1000000\n",  # the logs have $5
        said("a", 2 * MILLION, at="2026-05-01T10:00:00Z"),
        said("b", 5 * MILLION, at="2026-05-03T10:00:00Z"),
        said("c", 7 * MILLION, at="2026-05-09T10:00:00Z"),  # not in the export
        said("d", 9 * MILLION),  # without a time
    )
    assert line(found, "2026-05-01").difference("pico") == pico(Decimal(1))
    assert line(found, "2026-05-02").logs is None
    assert line(found, "2026-05-02").difference("tokens") == 4 * MILLION
    assert line(found, "2026-05-03").difference("pico") == pico(Decimal(-4))
    assert (found.unexplained("pico"), found.surplus("pico")) == (
        pico(Decimal(5)),
        pico(Decimal(4)),
    )
    assert found.outside.tokens == 7 * MILLION
    assert found.undated.pico == pico(Decimal(9))
    assert not found.priced_here


def test_days_are_those_of_utc(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        "date,model,cost\n2026-05-01,m1,1\n2026-05-02,m1,0\n",
        said("a", MILLION, at="2026-05-02T01:30:00+02:00"),
    )
    assert line(found, "2026-05-01").difference("pico") == 0
    assert found.unexplained("pico") == found.surplus("pico") == 0


def test_an_export_without_money_is_priced_by_the_list(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        "date,model,input_tokens,output_tokens\n2026-05-01,m1,1000000,100000\n",
        said("a", MILLION, at="2026-05-01T10:00:00Z"),
    )
    assert found.priced_here
    assert line(found, "2026-05-01").difference("pico") == pico(Decimal(1))  # 100,000 · $10


def test_a_model_is_known_by_its_name_on_the_bill(tmp_path: Path) -> None:
    rows = (
        "2026-05-01,Claude Opus 4.5,Default,k,message,≤ 200k,output,0.0025,0.0025,token,,\n"
        "2026-05-01,claude-opus-4-5-20251101,Default,k,message,≤ 200k,output,1,1,token,,\n"
    )
    found = compared(
        tmp_path,
        ANTHROPIC_COST + rows,
        said("a", 0, 100, model="claude-opus-4-5", at="2026-05-01T10:00:00Z"),
    )
    only = line(found, "2026-05-01")
    assert only.model == "claude-opus-4-5"
    assert only.difference("pico") == pico(Decimal(1))  # 100 · $25 a million are $0.0025


def test_a_name_that_only_settings_know(tmp_path: Path) -> None:
    chosen = settings(reconcile={"models": {"Our model": "m1"}})
    found = compared(
        tmp_path,
        "date,model,cost\n2026-05-01,Our model,1\n",
        said("a", MILLION, at="2026-05-01T10:00:00Z"),
        chosen=chosen,
    )
    assert line(found, "2026-05-01").difference("pico") == 0


def test_different_models_are_not_set_off_against_each_other(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        "date,model,cost\n2026-05-01,m2,1\n",
        said("a", MILLION, at="2026-05-01T10:00:00Z"),
    )
    assert (found.unexplained("pico"), found.surplus("pico")) == (pico(Decimal(1)),) * 2


def test_unpriced_logs_cannot_be_compared_in_money(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        "date,model,cost,total_tokens\n2026-05-01,unknown-model,1,50\n",
        said("a", 50, model="unknown-model", at="2026-05-01T10:00:00Z"),
    )
    only = line(found, "2026-05-01")
    assert (only.difference("pico"), only.difference("tokens")) == (None, 0)
    assert found.unexplained("pico") == 0
