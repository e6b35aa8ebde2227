"""Named stores as the settings file declares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from m3_memory.config import load_settings, show_settings
from m3_memory.errors import InvalidSettings


def written(home: Path, text: str) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    (home / "m3_config.toml").write_text(text, encoding="utf-8")
    return {"M3_HOME": str(home)}


def test_each_table_declares_a_store_and_the_main_one_is_always_there(home: Path) -> None:
    found = load_settings(
        written(
            home,
            '[stores.work]\ndatabase_url = "postgresql://ann:hunter2@db/m3"\ndescription = "Of the firm"\n'
            '[stores.archive]\npath = "/srv/old.db"\nread_only = true\n'
            '[stores.near]\npath = "near.db"\n',
        )
    )
    stores = found.all_stores
    assert list(stores) == ["main", "archive", "near", "work"]
    assert stores["main"].location == str(home / "m3.db")
    assert (stores["archive"].location, stores["archive"].read_only) == ("/srv/old.db", True)
    assert (stores["near"].location, stores["near"].read_only) == (str(home / "near.db"), False)
    assert stores["work"].location == "postgresql://ann:hunter2@db/m3"
    assert [store.is_file for store in stores.values()] == [True, True, True, False]
    assert "hunter2" not in repr(found)


def test_without_tables_there_is_the_main_store_alone(home: Path) -> None:
    assert list(load_settings(written(home, 'embedder = "off"\n')).all_stores) == ["main"]


def test_they_are_shown_without_their_passwords(home: Path) -> None:
    shown = show_settings(
        written(
            home,
            '[stores.work]\ndatabase_url = "postgresql://ann:hunter2@db/m3"\nread_only = true\n'
            'description = "Of the firm"\n',
        )
    )
    (row,) = [row for row in shown if row.name == "stores.work"]
    assert row.value == "postgresql://ann:***@db/m3 (read-only)"
    assert (row.source, row.meaning) == (str(home / "m3_config.toml"), "Of the firm")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("stores = 3", "stores"),
        ("[stores]\nwork = 3", "stores.work"),
        ('[stores.main]\npath = "x.db"', "stores.main"),
        ('[stores.Work]\npath = "x.db"', "stores.Work"),
        ('[stores."a b"]\npath = "x.db"', "stores.a b"),
        ("[stores.work]\n", "path or database_url"),
        ('[stores.work]\npath = "x.db"\ndatabase_url = "postgresql://db/x"', "path or database_url"),
        ("[stores.work]\npath = 3", "path"),
        ('[stores.work]\ndatabase_url = "mysql://db/x"', "database_url"),
        ('[stores.work]\npath = "x.db"\nread_only = "yes"', "read_only"),
        ('[stores.work]\npath = "x.db"\ncolour = "red"', "colour"),
        ('[stores.work]\npath = "a\\nb"', "path"),
        ('[stores.work]\npath = "${WORK}/x.db"', "variable"),
        ('[stores.work]\npath = "m3.db"', "main store"),
        ('[stores.a]\npath = "x.db"\n[stores.b]\npath = "./x.db"', "one store"),
    ],
)
def test_a_wrong_table_is_refused_naming_file_and_key(home: Path, text: str, named: str) -> None:
    with pytest.raises(InvalidSettings) as raised:
        load_settings(written(home, text))
    assert str(home / "m3_config.toml") in raised.value.message
    assert named in raised.value.message
    assert raised.value.hint


def test_the_main_store_has_no_second_name_whichever_it_is(home: Path) -> None:
    given = written(
        home, '[stores.work]\ndatabase_url = "postgresql://db/m3"\n[stores.old]\npath = "m3.db"\n'
    )
    with pytest.raises(InvalidSettings, match=r"stores\.old is the main store"):
        load_settings(given)
    with pytest.raises(InvalidSettings, match=r"stores\.work is the main store"):
        load_settings(given | {"M3_DATABASE_URL": "postgresql://db/m3"})
    elsewhere = load_settings(given | {"M3_DATABASE_URL": "postgresql://db/other"})
    assert list(elsewhere.all_stores) == ["main", "old", "work"]


def test_a_wrong_address_is_not_repeated_in_the_message(home: Path) -> None:
    with pytest.raises(InvalidSettings) as raised:
        load_settings(written(home, '[stores.work]\ndatabase_url = "pgsql://ann:hunter2@db/m3"'))
    assert "hunter2" not in raised.value.message + raised.value.hint
