import json
from dataclasses import replace

import pytest

from core.batches.dataset import Dataset, read_dataset, token_path
from core.batches.token_file import TokenFileWriter
from core.errors import DamagedDatasetError


@pytest.fixture
def dataset(tmp_path):
    with TokenFileWriter(token_path(tmp_path, "train"), "uint16") as writer:
        writer.append([4, 5, 6])
    with TokenFileWriter(token_path(tmp_path, "val"), "uint16") as writer:
        writer.append([7])
    made = Dataset(
        folder=tmp_path,
        train_tokens=3,
        val_tokens=1,
        vocab_size=9,
        dtype="uint16",
        has_conversations=True,
        documents=2,
        characters=10,
        bytes=12,
        split_by="documents",
        unknown_tokens=1,
    )
    (tmp_path / "dataset.json").write_text(made.to_json())
    made.tokenizer.write_text("{}")
    return made


def test_a_read_data_set_is_the_one_that_was_described(dataset):
    assert read_dataset(dataset.folder) == dataset
    assert dataset.tokens("val")[0:9].tolist() == [7]


def test_bytes_per_token_is_over_both_splits(dataset):
    assert dataset.bytes_per_token == 3.0


def test_the_unknown_share_is_of_all_tokens(dataset):
    assert dataset.unknown_share == 0.25


def test_a_description_of_an_older_program_has_no_unknown_tokens(dataset):
    record = json.loads(dataset.to_json())
    del record["unknown_tokens"]
    (dataset.folder / "dataset.json").write_text(json.dumps(record))
    assert read_dataset(dataset.folder) == replace(dataset, unknown_tokens=0)


def test_the_description_does_not_name_its_folder(dataset, tmp_path):
    assert str(tmp_path) not in dataset.to_json()
    assert Dataset.from_json(dataset.to_json(), tmp_path / "x") == replace(dataset, folder=tmp_path / "x")


@pytest.mark.parametrize("name", ["dataset.json", "train.bin", "val.bin", "tokenizer.json"])
def test_a_missing_file_is_named(dataset, name):
    (dataset.folder / name).unlink()
    with pytest.raises(DamagedDatasetError, match=name):
        read_dataset(dataset.folder)


@pytest.mark.parametrize("left", [b"\x04\x00", b"\x04\x00\x05", b""])
def test_a_token_file_cut_short_is_noticed(dataset, left):
    token_path(dataset.folder, "train").write_bytes(left)
    with pytest.raises(DamagedDatasetError):
        read_dataset(dataset.folder)


@pytest.mark.parametrize("change", [{"version": 2}, {"train_tokens": "3"}, {"more": 1}, {"dtype": "float99"}])
def test_an_altered_description_is_refused(dataset, change):
    record = json.loads(dataset.to_json()) | change
    (dataset.folder / "dataset.json").write_text(json.dumps(record))
    with pytest.raises(DamagedDatasetError):
        read_dataset(dataset.folder)
