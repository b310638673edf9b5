"""Names in the order of people."""

from core.natural_order import natural_key


def test_numbers_in_names_count_as_numbers():
    names = ["scan 10.pdf", "scan 2.pdf", "scan 1.pdf", "scan 04.pdf"]
    assert sorted(names, key=natural_key) == ["scan 1.pdf", "scan 2.pdf", "scan 04.pdf", "scan 10.pdf"]


def test_case_does_not_count():
    assert sorted(["b", "A", "C"], key=natural_key) == ["A", "b", "C"]


def test_any_two_names_can_be_compared():
    names = ["10", "a10", "1a", "", "a", "٣.txt", "²", "9" * 5000]
    assert sorted(names, key=natural_key)[0] == ""
