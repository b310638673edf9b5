"""Make the environments of the guests: python tests/core/serving/make_guests.py FOLDER. Needs a network, and npm for those of Node."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

PYTHON = {
    "lm_eval": ["torch>=2.13,<2.14", "lm-eval", "tenacity", "aiohttp", "requests"],
    "litellm": ["litellm"],
    "llm": ["llm"],
    "langchain": ["langchain-openai"],
    "ollama": ["ollama"],
}
NODE = ["ai", "@ai-sdk/openai-compatible", "openai"]


def main(folder: Path) -> None:
    """Make those that are not there yet."""
    for name, packages in PYTHON.items():
        if not (folder / name / "ready").exists():
            venv.create(folder / name, with_pip=True, clear=True)
            subprocess.run([folder / name / "bin" / "pip", "install", "-q", *packages], check=True)
            (folder / name / "ready").touch()
    if shutil.which("npm") and not (folder / "node" / "ready").exists():
        (folder / "node").mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["npm", "install", "--silent", "--no-audit", "--prefix", folder / "node", *NODE], check=True
        )
        (folder / "node" / "ready").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
