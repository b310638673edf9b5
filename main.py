"""The program's door: without a command the window, with one the command line, which never loads Qt."""

import sys
from typing import TYPE_CHECKING

from core.process import prepare_process

if TYPE_CHECKING:
    from core.runs.folder import Workspace


def main() -> int:
    """Run the program and give its exit code: 0 done, 1 a failure told in a sentence, 2 wrong usage."""
    prepare_process()
    from core import cli  # after the allocator is told, for torch comes with some commands

    return cli.run(sys.argv[1:], open_window)


def open_window(workspace: "Workspace") -> int:
    """Show the window on a workspace until it is closed."""
    from app.application import run

    return run(workspace)


if __name__ == "__main__":
    sys.exit(main())
