"""Other people's programs, each in an environment of its own, get from a server of ours what OpenAI's client gets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import openai
import pytest

from tests.core.serving.conftest import MAIN

FOLDER = Path(os.environ.get("SHEEPOP_GUESTS", ""))

QUESTION = "the cat"

pytestmark = pytest.mark.slow

LITELLM = """
import litellm
reply = litellm.completion(model="openai/first", api_base=URL, api_key="any", temperature=0, max_tokens=8,
                           messages=[{"role": "user", "content": QUESTION}])
answer = reply.choices[0].message.content
"""
LANGCHAIN = """
from langchain_openai import ChatOpenAI
model = ChatOpenAI(model="first", base_url=URL, api_key="any", temperature=0, max_tokens=8)
answer = "".join(chunk.content for chunk in model.stream(QUESTION))
"""
OLLAMA = """
import ollama
client = ollama.Client(URL.removesuffix("/v1"))
assert client.list().models[0].model == "first:latest"
asked = dict(model="first", options={"temperature": 0, "num_predict": 8}, messages=[{"role": "user", "content": QUESTION}])
answer = "".join(part.message.content for part in client.chat(stream=True, **asked))
try:
    client.pull("first")
except ollama.ResponseError as error:
    assert "Unknown request URL" in error.error
"""
VERCEL = """
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
const provider = createOpenAICompatible({ name: "sheepop", baseURL: URL_, apiKey: "any" });
const messages = [{ role: "user", content: QUESTION }];
const { textStream } = streamText({ model: provider("first"), messages, temperature: 0, maxOutputTokens: 8 });
let answer = "";
for await (const part of textStream) answer += part;
console.log(JSON.stringify(answer));
"""
OPENAI_NODE = """
import OpenAI from "openai";
const client = new OpenAI({ baseURL: URL_, apiKey: "any" });
const reply = await client.responses.create({ model: "first", input: QUESTION, temperature: 0, max_output_tokens: 8 });
console.log(JSON.stringify(reply.output_text));
"""
TASK = """
task: ours
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{{{text}}}}"
metric_list:
  - metric: bits_per_byte
"""


@pytest.fixture
def expected(server):
    with openai.OpenAI(base_url=server.url, api_key="any") as client:
        reply = client.chat.completions.create(
            model="first", messages=[{"role": "user", "content": QUESTION}], temperature=0, max_tokens=8
        )
    return reply.choices[0].message.content


def guest(name, program="bin/python"):
    if not (FOLDER / name / "ready").exists():
        pytest.skip(f"{name} is not installed: make guests")
    return FOLDER / name / program


def output_of(*command, **options):
    done = subprocess.run(list(map(str, command)), check=False, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "script"), [("litellm", LITELLM), ("langchain", LANGCHAIN), ("ollama", OLLAMA)]
)
def test_a_guest_of_python_gets_the_reply(server, expected, name, script):
    told = f"URL, QUESTION = {server.url!r}, {QUESTION!r}\n"
    printed = "\nimport json\nprint(json.dumps(answer))"
    assert json.loads(output_of(guest(name), "-c", told + script + printed).splitlines()[-1]) == expected


@pytest.mark.parametrize("script", [VERCEL, OPENAI_NODE])
def test_a_guest_of_node_gets_the_reply(server, expected, script):
    folder = guest("node", "")
    told = f"const URL_ = {json.dumps(server.url)}, QUESTION = {json.dumps(QUESTION)};\n"
    asked = [f'import {{}} from "node:process";\n{told}{script}']
    assert json.loads(output_of("node", "--input-type=module", "-e", *asked, cwd=folder)) == expected


def test_llm_gets_the_reply(server, expected, tmp_path):
    model = f"- model_id: ours\n  model_name: first\n  api_base: {server.url}\n"
    (tmp_path / "extra-openai-models.yaml").write_text(model)
    environment = os.environ | {"LLM_USER_PATH": str(tmp_path), "OPENAI_API_KEY": "any"}
    options = ["-o", "temperature", "0", "-o", "max_tokens", "8", "--key", "any"]
    printed = output_of(guest("llm", "bin/llm"), "-m", "ours", *options, QUESTION, env=environment)
    assert printed.removesuffix("\n") == expected


def test_lm_eval_measures_what_score_measures(server, tmp_path):
    text = "cat"  # longer than the context, it would be cut into windows in two ways
    (tmp_path / "data.jsonl").write_text(json.dumps({"text": text}))
    (tmp_path / "ours.yaml").write_text(TASK.format(data=tmp_path / "data.jsonl"))
    (tmp_path / "text.txt").write_text(text)
    length = openai.OpenAI(base_url=server.url, api_key="any").models.retrieve("first").context_length
    arguments = f"model=first,base_url={server.url}/completions,max_length={length}"
    environment = os.environ | {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    output_of(
        guest("lm_eval", "bin/lm_eval"),
        *("--model", "local-completions", "--model_args", arguments, "--tasks", "ours"),
        *("--include_path", tmp_path, "--output_path", tmp_path / "found"),
        env=environment,
        cwd=tmp_path,
    )
    (found,) = (tmp_path / "found").rglob("*.json")
    measured = json.loads(found.read_text())["results"]["ours"]["bits_per_byte,none"]
    assert measured == pytest.approx(_score(server, tmp_path / "text.txt"), rel=1e-4)


def _score(server, path):
    printed = output_of(
        sys.executable, MAIN, "score", "first", "--text", path, "--json", "--workspace", server.workspace
    )
    return next(json.loads(line)["bits_per_byte"] for line in printed.splitlines() if '"text_scored"' in line)
