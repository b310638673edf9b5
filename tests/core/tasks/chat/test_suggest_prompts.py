"""What a conversation could begin with, taken from the text that a run was trained on."""

from core.control import StopToken
from core.tasks.chat.suggest_prompts import suggest_prompts


def asked(workspace):
    task = suggest_prompts(workspace, "first", StopToken())
    try:
        while True:
            next(task)
    except StopIteration as end:
        return end.value


def test_prompts_are_of_the_training_text(trained):
    prompts = asked(trained)
    assert 1 <= len(prompts) <= 3 and len(set(prompts)) == len(prompts)
    assert all(6 <= len(prompt) <= 60 for prompt in prompts)
