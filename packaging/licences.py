"""The licences of all that the frozen program has in it, as one text that Help > About shows.

Python's packages bring theirs in their records, Debian's libraries in /usr/share/doc.
"""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

File = tuple[str, str, str]  # the path in the program's folder, the path here, and PyInstaller's kind

OWN = "sheepop-studio"
NAMED = re.compile(r"licen[cs]e|copying|notice|third_party", re.IGNORECASE)  # in a path: a text of a licence
COMMON = Path("/usr/share/common-licenses")
OF_PACKAGES = ("Apache-2.0", "GPL-3", "LGPL-3")  # what Python's packages name without a text
NO_TEXT = "The package brings no text of its licence along; the common ones stand at the end."
HEAD = (
    "SheepOp Studio contains the programs and libraries listed here, each under its own licence. Qt and PySide6 are used "
    "under the LGPL 3: their files lie in the folder of the program as they came, and may be replaced by others."
)


def licences(*files: Iterable[File]) -> str:
    """What is bundled, and under which licences, in the order of the names."""
    paths = {Path(file[1]).resolve() for part in files for file in part if file[1] and file[1] != "-"}
    parts = {"Python": _python(), **_packages(paths), **_debian(paths)}
    names = sorted(parts, key=str.casefold)
    contents = "\n".join(f"    {name}" for name in names)
    texts = (f"{name}\n{'=' * len(name)}\n\n{parts[name].strip()}" for name in names)
    common = (
        f"{path.name}\n{'=' * len(path.name)}\n\n{path.read_text(encoding='utf-8')}"
        for path in _common(parts.values())
    )
    return "\n\n\n".join([f"{HEAD}\n\n{contents}", *texts, *common]) + "\n"


def _python() -> str:
    return (Path(sysconfig.get_path("stdlib")) / "LICENSE.txt").read_text(encoding="utf-8")


def _packages(paths: set[Path]) -> dict[str, str]:
    """The distributions of which a file is bundled."""
    found = {}
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"]
        folder = Path(str(distribution.locate_file(""))).resolve()
        own = {folder / file for file in distribution.files or ()}
        if name.casefold() != OWN and own & paths:
            found[f"{name} {distribution.version}"] = _record(distribution, own)
    return found


def _record(distribution: importlib.metadata.Distribution, files: set[Path]) -> str:
    fields = distribution.metadata
    short = fields["License-Expression"] or (fields["License"] or "").partition("\n")[0]
    classifiers = [
        line.rpartition(" :: ")[2] for line in fields.get_all("Classifier") or () if "License" in line
    ]
    texts = sorted(file for file in files if _is_licence(file))
    said = [f"Licence: {short or ', '.join(classifiers) or 'see below'}"]
    said += [text for file in texts if (text := file.read_text(encoding="utf-8", errors="replace").strip())]
    return "\n\n".join([*said, *([] if len(said) > 1 else [NO_TEXT])])


def _is_licence(file: Path) -> bool:
    """Of a package's record, which lists each text; elsewhere such a name may be that of a module."""
    in_record = next((parent for parent in file.parents if parent.suffix == ".dist-info"), None)
    return bool(in_record and NAMED.search(str(file.relative_to(in_record))) and file.is_file())


def _debian(paths: set[Path]) -> dict[str, str]:
    """Debian's packages of which a file is bundled."""
    if not shutil.which("dpkg-query"):
        return {}
    prefixes = (
        Path(sys.prefix).resolve(),
        Path(sys.base_prefix).resolve(),
        Path(__file__).resolve().parents[1],
    )
    system = [path for path in paths if not any(map(path.is_relative_to, prefixes))]
    return {name: _copyright(name) for name in owners([*system, Path("/usr/bin/tesseract")])}


def owners(paths: Sequence[Path]) -> list[str]:
    """The names of Debian's packages that these files belong to, which were packed for /lib or for /usr/lib."""
    stems = [str(path).removeprefix("/usr") for path in paths]
    spellings = [*stems, *(f"/usr{stem}" for stem in stems)]
    found = subprocess.run(["dpkg-query", "-S", *spellings], capture_output=True, text=True, check=False)
    lines = (
        line.partition(": ")[0] for line in found.stdout.splitlines() if not line.startswith("diversion")
    )
    return sorted({owner.partition(":")[0] for line in lines for owner in line.split(", ")})


def _copyright(package: str) -> str:
    path = Path("/usr/share/doc", package, "copyright")
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else NO_TEXT


def _common(texts: Iterable[str]) -> list[Path]:
    """The texts that Debian keeps once and that its packages name."""
    whole = "\n".join(texts)
    kept = sorted(COMMON.iterdir()) if COMMON.exists() else []
    return [path for path in kept if str(path) in whole or path.name in OF_PACKAGES]
