"""`keep`: checkpoints for ever, by name."""


def test_a_checkpoint_is_kept_listed_used_and_let_go(trained, records, command):
    place = ("--workspace", trained.root)
    kept = [{"event": "kept_checkpoint", "name": "good", "step": 4}]
    assert records("keep", "first", "--checkpoint", "4", "--as", "good", *place) == (0, kept)
    assert records("keep", "first", *place) == (0, kept)
    assert (
        command(
            "generate", "first", "--checkpoint", "good", "--prompt", "the", "--max-new-tokens", "2", *place
        )[0]
        == 0
    )
    assert records("keep", "first", "--remove", "good", *place) == (0, [])


def test_what_cannot_be_is_said_with_its_exit_code(trained, command):
    place = ("--workspace", trained.root)
    assert command("keep", "first", "--as", "best", *place)[0] == 2
    assert command("keep", "first", "--checkpoint", "5", "--as", "good", *place)[0] == 1
    assert command("keep", "first", "--as", "a", "--remove", "b", *place)[0] == 2
    assert command("keep", "first", "--checkpoint", "4", *place)[0] == 2
    assert command("keep", "nobody", *place)[0] == 1


def test_a_damaged_one_is_listed_and_can_be_let_go(trained, records):
    place = ("--workspace", trained.root)
    records("keep", "first", "--checkpoint", "4", "--as", "bad", *place)
    (trained.run("first").kept / "bad" / "step-000004" / "state.json").write_text("{")
    (trained.run("first").kept / "odd" / "step-notes").mkdir(parents=True)
    assert records("keep", "first", *place) == (0, [{"event": "kept_checkpoint", "name": "bad", "step": 4}])
    assert records("keep", "first", "--remove", "bad", *place) == (0, [])
