"""What benchmarks and fuzzers fail with, in the user's words."""

from pathlib import Path

from core.errors.base import UserFacingError
from core.system.packaged import is_packaged


class FuzzFailedError(UserFacingError):
    """A damaged file that did not come to an end as it should: a defect of this program."""

    path: Path
    reason: str
    message = "A guarantee was broken for {path.name}: {reason}."
    remedy = "Report it, with {path}. The same --seed makes it again."


class MissingPeerError(UserFacingError):
    """A benchmark's peer is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.message = f"The benchmark compares with {package}, which is not installed."
        self.remedy = (
            "Run the benchmark from the source: the packaged program cannot use the package."
            if is_packaged()
            else "Install the development tools: pip install -e '.[dev]'."
        )


class SourcesMissingError(UserFacingError):
    """The files that a benchmark takes for its text are not there."""

    message = (
        "The benchmark reads the source files of Python, which are not there: a packaged program has none."
    )
    remedy = "Run it from the source."


class SubjectEndedError(UserFacingError):
    """A process whose speed was measured is gone."""

    message = "A benchmarked process ended early, perhaps because memory ran out."
    remedy = "Choose a smaller shape, or close other programs."
