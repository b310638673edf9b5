"""SQLite with this program's manners: short transactions, room for a second instance, failures as sentences."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from core.errors import DamagedLibraryError, DiskFullError, WorkspaceError, WorkspaceGoneError

BUSY_SECONDS = 30.0  # how long another instance may take for a transaction
PRIMARY_CODE = 0xFF  # SQLite's extended error codes keep the primary one in the low byte
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Database:
    """One connection, for the thread that opened it.

    Args:
        path: The file; made where it does not exist.
        schema: The statements that make an empty database ours.
        version: The schema's number, kept in the file.
        migrations: Of each older version, the statements that make the next one of it.

    Raises:
        WorkspaceError: The file cannot be opened or written.
        WorkspaceGoneError: It was deleted, moved or replaced while it was open.
        DiskFullError: There is no room.
        DamagedLibraryError: It is damaged, another program's, or of a newer version. It is not touched.
    """

    def __init__(self, path: Path, schema: str, version: int, migrations: Mapping[int, str]) -> None:
        self._path = path
        self._identity: tuple[int, int] | None = None  # of the open file: its device, and its number there
        with self._sentences():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            self._prepare(schema, version, migrations)
            self._identity = self._find_identity()
            self.refuse_moved()
        except BaseException:
            self._connection.close()
            raise

    @property
    def folder(self) -> Path:
        return self._path.parent

    def close(self) -> None:
        with self._sentences():
            self._connection.close()

    def query(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        """All rows of a statement, inside a transaction or outside of one."""
        with self._sentences():
            return self._connection.execute(sql, tuple(values)).fetchall()

    def change_all(self, sql: str, values: Iterable[tuple[Any, ...]]) -> None:
        """A statement once for each of `values`, inside a transaction."""
        with self._sentences():
            self._connection.executemany(sql, values)

    def query_anew(self, sql: str, values: Iterable[Any] = ()) -> list[Any]:
        """All rows of a statement by a connection of its own: what anybody else finds in the file at this path.

        Raises:
            WorkspaceGoneError: The file at this path is not the one that is open.
        """
        self.refuse_moved()
        uri = f"{self._path.absolute().as_uri()}?mode=rw"  # which makes no new file
        with self._sentences(), closing(sqlite3.connect(uri, timeout=BUSY_SECONDS, uri=True)) as connection:
            return connection.execute(sql, tuple(values)).fetchall()

    def refuse_moved(self) -> None:
        """Check that the open file still stands at its path: a system may let it be deleted or replaced meanwhile.

        Raises:
            WorkspaceGoneError: It does not, so what is written now is lost when it is closed.
        """
        if self._has_moved():
            raise WorkspaceGoneError(self.folder)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements within are kept together, or none. Other instances wait for the end before they write."""
        with self._sentences():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk has rolled back by itself
                    self._connection.execute("ROLLBACK")
                raise

    def _prepare(self, schema: str, version: int, migrations: Mapping[int, str]) -> None:
        found = self._version()
        tables = self.query("SELECT count(*) FROM sqlite_master")[0][0]
        if found > version:
            raise DamagedLibraryError(self._path, "a newer version of this program wrote it")
        if found == 0 and tables:
            raise DamagedLibraryError(self._path, "it is another program's database")
        self.query("PRAGMA journal_mode = WAL")  # a reader never waits for a writer
        self.query("PRAGMA synchronous = NORMAL")  # with WAL, a kill loses nothing that was committed
        self.query("PRAGMA foreign_keys = ON")
        if found != version:
            self._bring_up_to_date(schema, version, migrations)

    def _bring_up_to_date(self, schema: str, version: int, migrations: Mapping[int, str]) -> None:
        with self.transaction():
            found = self._version()  # read again: a second instance may have been quicker
            steps = [migrations[old] for old in range(found, version)] if found else [schema]
            if found == version:
                return
            for statement in ";".join(steps).split(";"):
                self.query(statement)
            self.query(f"PRAGMA user_version = {version}")

    def _version(self) -> int:
        return int(self.query("PRAGMA user_version")[0][0])

    def _has_moved(self) -> bool:
        return self._identity is None or self._find_identity() != self._identity

    def _find_identity(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except OSError as cause:
            raise WorkspaceError(self.folder, (cause.strerror or "no access").lower()) from cause
        except sqlite3.DatabaseError as cause:
            if self._identity and self._has_moved():
                raise WorkspaceGoneError(self.folder) from cause
            code = getattr(cause, "sqlite_errorcode", 0) & PRIMARY_CODE
            if code == sqlite3.SQLITE_FULL:
                raise DiskFullError(self._path) from cause
            if code in DAMAGE:
                raise DamagedLibraryError(self._path, "it is damaged") from cause
            if code in BUSY:
                raise WorkspaceError(self.folder, "another program keeps the library locked") from cause
            if isinstance(cause, sqlite3.OperationalError):
                raise WorkspaceError(self.folder, f"the library cannot be used ({cause})") from cause
            raise
