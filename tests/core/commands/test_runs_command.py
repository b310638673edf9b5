"""`runs` and `run`: the runs as a table, and one of them on a page."""

import shutil

from core.runs.notes import RunNotes, write_notes


def place(workspace):
    return ("--workspace", workspace.root)


def test_runs_are_listed_with_what_they_reached(trained, records, command):
    code, [row] = records("runs", *place(trained))
    assert code == 0
    assert (row["event"], row["name"], row["state"], row["tokens"]) == ("run", "first", "finished", 192)
    assert row["bits_per_byte"] > 0
    assert records("runs", "list", *place(trained)) == (0, [row])
    assert "tags" not in command("runs", *place(trained))[1].splitlines()[0]


def test_runs_are_listed_by_tag(trained, records, command):
    shutil.copytree(trained.runs / "first", trained.runs / "second")
    write_notes(trained.run("second"), RunNotes(("Poems",)))
    assert [row["name"] for row in records("runs", "list", "--tag", "poems", *place(trained))[1]] == [
        "second"
    ]
    assert "tags" in command("runs", *place(trained))[1].splitlines()[0]


def test_a_damaged_run_is_a_row_that_says_why(trained, records, command):
    (trained.runs / "first" / "run.toml").write_text("{")
    code, [row] = records("runs", *place(trained))
    assert (code, row["state"]) == (0, "damaged")
    assert "run.toml" in row["problem"]
    assert "run.toml" in command("runs", *place(trained))[1]
    code, [page] = records("run", "first", *place(trained))
    assert (code, page["settings"]) == (0, None)
    assert "run.toml" in command("run", "first", *place(trained))[1]


def test_a_run_is_shown_with_what_differs_from_its_preset(trained, records, command):
    write_notes(trained.run("first"), RunNotes(("poems",), "the good one", "Writes poems.", "CC0"))
    code, [page] = records("run", "first", *place(trained))
    assert code == 0
    assert (page["tags"], page["note"], page["licence"]) == (["poems"], "the good one", "CC0")
    assert [saved["step"] for saved in page["saved"]] == [2, 4, 6]
    assert page["settings"]["model"]["d_model"] == 16
    shown = command("run", "first", *place(trained))[1]
    for words in ("Finished", "the good one", "Learning rate", "best, last"):
        assert words in shown


def test_a_run_that_is_not_there_is_answered_with_the_nearest(trained, command):
    code, _, said = command("run", "frist", *place(trained))
    assert code == 1
    assert "'first'" in said
    assert command("run", "", *place(trained))[0] == 2
