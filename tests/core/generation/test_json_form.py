"""Replies that must be one JSON object, of models that know nothing of JSON."""

import json

import pytest
import torch

from core.config.model import ModelConfig
from core.config.sampling import SamplingConfig
from core.control import StopToken
from core.errors.base import NoJsonError
from core.events.replies import ReplyEnded
from core.generation.json_form import JsonForm
from core.generation.row import Row
from core.generation.writing import write, write_batch
from core.model.transformer import Transformer
from core.tokenizers.bpe import BpeTokenizer
from core.tokenizers.char import CharTokenizer
from core.tokenizers.tokenizer import EOS
from core.tokenizers.word import WordTokenizer

TEXT = '{"name": ["Ann", 1.5e-7, true, null, false]} \n'
CHAR, BPE = CharTokenizer.train([TEXT]), BpeTokenizer.train([TEXT * 20, "Käse 😀"], 400)
LENGTH = 300


def random_model(tokenizer, seed):
    torch.manual_seed(seed)
    config = ModelConfig(n_layers=1, n_heads=2, d_model=16, context_length=LENGTH + 10)
    return Transformer(config, tokenizer.vocab_size).eval()


def settings(tokenizer, seed, **more):
    # the end is made likely wherever it may come, so that most replies have one
    closing = {id for sign in '}]"' for id in tokenizer.encode(sign)} | {EOS}
    biases = tuple(f"{id}=4" for id in closing)
    return SamplingConfig(
        form="json", seed=seed, temperature=1.5, max_new_tokens=LENGTH, logit_bias=biases, **more
    )


@pytest.mark.parametrize("tokenizer", [CHAR, BPE], ids=["characters", "BPE"])
def test_whatever_a_model_prefers_its_reply_is_an_object(tokenizer):
    model, prompt = random_model(tokenizer, 1), tokenizer.encode("name")
    configs = [settings(tokenizer, seed) for seed in range(24)]
    events = write_batch(model, tokenizer, [prompt] * len(configs), configs, StopToken())
    ended = [event for event in events if isinstance(event, ReplyEnded)]
    whole = [json.loads(event.text) for event in ended if event.reason == "eos"]
    assert len(whole) >= 20
    assert all(isinstance(one, dict) for one in whole)
    assert any(whole)  # not only empty ones


def test_a_reply_that_goes_on_is_the_one_that_was_not_interrupted():
    model, prompt, config = random_model(CHAR, 2), CHAR.encode("name"), settings(CHAR, 5)
    whole = Row(prompt, config, form=JsonForm(CHAR))
    *_, ended = write(model, CHAR, prompt, (), config, StopToken())
    ids = CHAR.encode(ended.text)
    for cut in (1, len(ids) // 2):
        *_, rest = write(model, CHAR, prompt, (), config, StopToken(), written=ids[:cut])
        assert ended.text == CHAR.decode(ids[:cut]) + rest.text
    assert whole.done is False


def test_a_filter_never_leaves_a_token_out_of_form():
    model, prompt = random_model(BPE, 3), BPE.encode("name")
    config = settings(BPE, 1, top_k=1, top_p=0.01)
    *_, ended = write(model, BPE, prompt, (), config, StopToken())
    assert ended.text.startswith("{")


@pytest.mark.parametrize(
    "tokenizer", [CharTokenizer.train(["a {} b"]), WordTokenizer.train(["a sheep"], 300)]
)
def test_a_vocabulary_without_the_signs_is_refused(tokenizer):
    with pytest.raises(NoJsonError, match="vocabulary lacks"):
        JsonForm(tokenizer)


def test_words_that_cannot_be_spelled_end_the_reply():
    tokenizer = WordTokenizer.train(['{ } " : sheep'], 300)
    *_, ended = write(
        random_model(tokenizer, 4),
        tokenizer,
        tokenizer.encode("sheep"),
        (),
        settings(tokenizer, 1),
        StopToken(),
    )
    assert ended.text.lstrip().startswith("{")
