"""All modules can be imported where Unix's own ones are missing, as on Windows."""

import subprocess
import sys

SCRIPT = """
import importlib, pkgutil, sys
import psutil  # whose part for Linux may need them

UNIX = {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "crypt", "nis", "spwd"}

class NoUnix:
    def find_spec(self, name, path=None, target=None):
        if name in UNIX:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in UNIX:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, NoUnix())
import app, core
failed = []
for package in (core, app):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name in UNIX:
                failed.append((module.name, error.name))
            elif error.name not in ("transformers", "tiktoken", "llama_cpp", "ray", "peft"):
                raise
print(failed)
"""


def test_no_module_needs_what_only_unix_has():
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=False, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
