"""What the operating system refuses, as sentences: the reason in its words, and the remedy that fits it."""

import errno
from pathlib import Path

from core.errors import (
    DiskFullError,
    ReadOnlyWorkspaceError,
    SystemRefusalError,
    UserFacingError,
    WorkspaceError,
)

FULL = (errno.ENOSPC, errno.EDQUOT)
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
PERMISSION = "Change the permissions of the folder and of what is in it, or work where you may write."
REMEDIES = {
    errno.EACCES: PERMISSION,
    errno.EPERM: PERMISSION,
    errno.EROFS: "Make the file system writable, or work on another one.",
    errno.ENOTDIR: "Part of the path is a file: move that file away, or choose another path.",
    errno.EISDIR: "A folder stands in the place of a file: move it away.",
    errno.ENAMETOOLONG: "Choose a shorter name or path.",
    errno.ELOOP: "Links lead in a circle: choose the folder that they should lead to.",
    errno.ENOENT: "Something that was there is gone: look whether the folder was moved or removed.",
    errno.EEXIST: "Something of that name stands there already: move it away.",
    errno.EIO: "The disk, or the network that it is reached by, fails: look after it, and keep a copy of your files.",
    errno.EFBIG: "The file system, or a limit on files (ulimit -f), takes no file so large: work on another one.",
    errno.EMFILE: "Close other programs, or raise the limit on open files (ulimit -n).",
    errno.ENFILE: "Close other programs, or raise the limit on open files.",
    errno.ENOMEM: "Close other programs, to free memory.",
    errno.EBUSY: "Close the program that uses it, and try again.",
    errno.EAGAIN: "Close other programs: the system has no more processes or threads to give.",
}
NO_REMEDY = "Look after the disk or folder in question, and try again."


def workspace_error(path: Path, cause: OSError) -> WorkspaceError | DiskFullError:
    """The failure to tell where the system refuses a path in a workspace.

    Args:
        path: What was to be read or written.
        cause: The refusal.
    """
    if cause.errno in FULL:
        return DiskFullError(path, by_quota=cause.errno == errno.EDQUOT)
    kind = ReadOnlyWorkspaceError if cause.errno in READ_ONLY else WorkspaceError
    return kind(path, _reason(cause), f"{_remedy(cause)} Another workspace is chosen with --workspace DIR.")


def system_error(cause: OSError) -> UserFacingError:
    """The failure to tell where a refusal reached an outermost frame, so that only its error number is known."""
    what = "a file, a folder or a device" if cause.filename is None else _text(cause.filename)
    if cause.errno in FULL:
        return DiskFullError(Path(what), by_quota=cause.errno == errno.EDQUOT)
    return SystemRefusalError(what, _reason(cause), _remedy(cause))


def _reason(cause: OSError) -> str:
    return (cause.strerror or str(cause) or "it does not say why").lower()


def _remedy(cause: OSError) -> str:
    return REMEDIES.get(cause.errno or 0, NO_REMEDY)


def _text(filename: object) -> str:
    return filename.decode("utf-8", "backslashreplace") if isinstance(filename, bytes) else str(filename)
