"""A workspace moves to another folder, whole or not at all."""

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from core.control import StopToken
from core.disk.drafts import DRAFT
from core.disk.files import raising_disk_errors, rename, sync
from core.errors.system import DiskFullError, WorkspaceBusyError, WorkspaceTargetError
from core.events.base import Task, at_once
from core.events.workspaces import WorkspaceCopied
from core.runs.folder import Workspace

BLOCK_BYTES = 16 << 20  # between two looks at the stop token
LEFT = ".moved"  # how the name of the old folder ends while it is removed

_Listing = dict[
    Path, tuple[int, int, int]
]  # mode, size in bytes and time of change in ns, by path below the root


def check_target(workspace: Workspace, target: Path) -> None:
    """See that a workspace could move there.

    Raises:
        WorkspaceTargetError: It is no empty folder, or lies inside the workspace.
        WorkspaceError: It cannot be looked at.
    """
    with raising_disk_errors(target):
        if target.resolve().is_relative_to(workspace.root.resolve()):
            raise WorkspaceTargetError(target, "it lies inside the workspace")
        if target.is_symlink() or (target.exists() and not target.is_dir()):
            raise WorkspaceTargetError(target, "there is a file of that name")
        if target.exists() and any(target.iterdir()):
            raise WorkspaceTargetError(target, "it is not empty")


def move_workspace(workspace: Workspace, target: Path, stop: StopToken) -> Task[Workspace]:
    """Move a workspace that no window has open into a folder that is empty, or is not there yet.

    On one disk it is renamed. To another one it is copied, and the old one goes when the new one is whole: a stop, a failure
    or a kill before leaves the old one as it was.

    Returns:
        The workspace at its new place; the same as before where it was stopped. An old folder that could not be removed
        stays.

    Raises:
        WorkspaceTargetError: As for `check_target`.
        WorkspaceBusyError: Another program works in it.
        DiskFullError, WorkspaceError: The new place cannot be written.
    """
    check_target(workspace, target)
    _refuse_busy(workspace)
    with raising_disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        if _renamed(workspace.root, target):
            return Workspace(target)
        draft = _draft(target)
        with FileLock(_lock(target), thread_local=False):
            shutil.rmtree(draft, ignore_errors=True)  # what a kill left
            try:
                yield from _copy(workspace, draft, stop)
                if stop.asked:
                    return workspace
                _make_room(target)
                rename(draft, target)
                sync(target.parent)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
                _lock(target).unlink(missing_ok=True)
    _remove(workspace.root)
    return Workspace(target)


def _refuse_busy(workspace: Workspace) -> None:
    locks = (
        *workspace.root.glob(".*.lock"),
        *workspace.runs.glob("*/.lock"),
        *workspace.runs.glob("*/.in-use-*"),
    )
    for lock in locks:
        try:
            with FileLock(lock, timeout=0, thread_local=False):
                pass
        except Timeout as cause:
            raise WorkspaceBusyError(workspace.root) from cause


def _make_room(target: Path) -> None:
    with suppress(FileNotFoundError):
        target.rmdir()  # an empty folder; on Windows nothing takes its place


def _renamed(old: Path, new: Path) -> bool:
    """Whether both are on one disk, and the folder has its new name."""
    was_there = new.exists()
    _make_room(new)
    try:
        old.rename(new)
    except OSError as cause:
        if was_there:
            new.mkdir()
        if cause.errno == errno.EXDEV:
            return False
        raise
    return True


def _copy(workspace: Workspace, draft: Path, stop: StopToken) -> Iterator[WorkspaceCopied]:
    """Copy all files, and see that none changed meanwhile."""
    files = _listing(workspace.root)
    total = sum(size for _, size, _ in files.values())
    if shutil.disk_usage(draft.parent).free < total:
        raise DiskFullError(draft.parent)
    draft.mkdir()
    done, copies = (
        0,
        dict[tuple[int, int], Path](),
    )  # the copy of a file that has several names, by device and number
    for path in files:
        for copied in _copy_one(workspace.root / path, draft / path, copies):
            done += copied
            yield WorkspaceCopied(done, total)
            if stop.asked:
                return
    if _listing(workspace.root) != files:
        raise WorkspaceBusyError(workspace.root)


def _listing(root: Path) -> _Listing:
    """Folders, files and links below a folder, each folder before what is in it."""
    found: _Listing = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            found[path.relative_to(root)] = status.st_mode, 0, 0
        elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            found[path.relative_to(root)] = status.st_mode, status.st_size, status.st_mtime_ns
    return found


def _copy_one(source: Path, copy: Path, copies: dict[tuple[int, int], Path]) -> Iterator[int]:
    """Copy a folder without its content, a link, or a file in blocks; gives the bytes of each."""
    status = source.lstat()
    if stat.S_ISDIR(status.st_mode):
        copy.mkdir()
    elif stat.S_ISLNK(status.st_mode):
        copy.symlink_to(source.readlink())
    elif status.st_nlink > 1 and (same := copies.get((status.st_dev, status.st_ino))):
        copy.hardlink_to(same)
        yield status.st_size
    else:
        copies[status.st_dev, status.st_ino] = copy
        with source.open("rb") as read, copy.open("wb") as written:
            while block := read.read(BLOCK_BYTES):
                written.write(block)
                yield len(block)
            written.flush()
            os.fsync(written.fileno())
        shutil.copystat(source, copy)


def _remove(old: Path) -> None:
    """Remove what has moved. It has another name first, so that half of it is never taken for a workspace."""
    with suppress(OSError):
        rename(old, _rest(old))
        remove_rest(old)


@at_once
def remove_rests(places: Sequence[Path], stop: StopToken) -> tuple[Path, ...]:
    """Remove what is left of workspaces that moved away from these places, and return the places that are empty now."""
    gone = []
    for place in places:
        if remove_rest(place) and not place.exists():
            gone.append(place)
        if stop.asked:
            break
    return tuple(gone)


def has_rest(old: Path) -> bool:
    """Return whether something is left of a workspace that moved away from here or was to move here."""
    return _rest(old).is_dir() or _draft(old).is_dir()


def remove_rest(old: Path) -> bool:
    """Remove what is left, also by a kill, of a workspace that moved away from here or was to move here.

    Returns:
        Whether there was anything that could go.
    """
    left = [folder for folder in (_rest(old), _draft(old)) if folder.is_dir()]
    if not left:
        return False
    try:
        with FileLock(_lock(old), timeout=0, thread_local=False):
            for folder in left:
                shutil.rmtree(folder, ignore_errors=True)
            _lock(old).unlink(missing_ok=True)
    except (Timeout, OSError):  # a workspace moves here just now, or nothing can be written
        return False
    return True


def _draft(target: Path) -> Path:
    return target.with_name(f".{target.name}{DRAFT}")


def _lock(target: Path) -> Path:
    return target.with_name(f".{target.name}.lock")


def _rest(old: Path) -> Path:
    return old.with_name(f".{old.name}{LEFT}")
