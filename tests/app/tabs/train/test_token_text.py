import pytest

from app.tabs.train.token_text import count, percentage, visible


def test_white_space_is_shown_as_signs():
    assert visible(" a\tb\r\n") == "␣a→b␍⏎"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.00001, "< 0.01 %"), (0.0234, "2.34 %"), (0.99999, "99.99 %"), (1, "100 %")],
)
def test_a_share_is_never_rounded_to_none_or_all(share, text):
    assert percentage(share) == text


def test_one_is_singular():
    assert (count(1, "token"), count(1000, "token")) == ("1 token", "1,000 tokens")
