"""`serve` on the command line: what is wrong is said before a model is opened, and a token is never typed."""

import sys

import pytest

from core.commands import serve as command_module
from core.events.base import Notice


@pytest.fixture
def asked(monkeypatch):
    """The settings that the command hands on, in place of a server."""
    found = []

    def stand_in(workspace, name, checkpoint, config, stop, weights):
        found.append((name, checkpoint, config, weights))
        yield Notice("served")

    monkeypatch.setattr(command_module, "serve", stand_in)
    return found


def test_options_become_settings(trained, records, asked):
    options = ["--port", 0, "--origin", "http://a:1", "--origin", "http://b:2", "--slots", 3, "--queue", 5]
    code, events = records("--workspace", trained.root, "serve", "first", "--checkpoint", "last", *options)
    [(name, checkpoint, config, weights)] = asked
    assert (code, [event["text"] for event in events]) == (0, ["served"])
    assert (name, checkpoint, weights, config.token) == ("first", "last", None, "")
    assert (config.port, config.slots, config.queue) == (0, 3, 5)
    assert config.origins == ("http://a:1", "http://b:2")
    assert config.is_loopback


@pytest.mark.parametrize("option", ["--token", "--allow-network"])
def test_a_token_is_made_up_and_printed_where_one_is_needed(trained, records, asked, option):
    _, [notice, _] = records("--workspace", trained.root, "serve", "first", option)
    [(_, _, config, _)] = asked
    assert len(config.token) >= 32
    assert notice["text"].endswith(config.token)
    assert config.token not in repr(config)


def test_a_token_of_the_environment_is_used_and_not_printed(trained, records, asked, monkeypatch):
    monkeypatch.setenv("SHEEPOP_TOKEN", "secret")
    _, events = records("--workspace", trained.root, "serve", "first")
    assert [event["text"] for event in events] == ["served"]
    assert asked[0][2].token == "secret"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--port", "70000"], 2, "port"),
        (["--slots", "0"], 2, "slots"),
        (["--weights", "int3"], 2, "weights"),
        (["--token", "secret"], 2, "secret"),
        (["--host", "0.0.0.0"], 2, "Other machines could reach a server on 0.0.0.0."),
        (
            ["--host", "203.0.113.5", "--allow-network", "--port", "0"],
            1,
            "cannot listen on port 0 of 203.0.113.5",
        ),
        (["--checkpoint", "99"], 1, "no checkpoint"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(trained, command, options, code, said):
    got, _, err = command("--workspace", trained.root, "serve", "first", *options)
    assert got == code
    assert said in err
    assert "Traceback" not in err


def test_a_run_that_there_is_not_is_said(trained, command):
    code, _, err = command("--workspace", trained.root, "serve", "frist")
    assert (code, "Did you mean 'first'?" in err) == (1, True)


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_missing_packages_are_named_with_the_line_that_installs_them(trained, command, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = command("--workspace", trained.root, "serve", "first")
    assert (code, err) == (
        1,
        f"error: The server needs a package that is not installed: {package}.\n"
        'Install it with pip install "sheepop-studio[serve]" (the packaged program cannot use it).\n',
    )
