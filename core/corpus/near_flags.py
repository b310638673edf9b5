"""Which documents nearly repeat another one, as the library keeps it."""

import numpy as np

from core.corpus.database import Database
from core.corpus.duplicates import digest_text
from core.corpus.near_duplicates import SIGNATURE_BYTES, SIGNATURE_VALUES, find_originals
from core.corpus.search_index import steps_of
from core.corpus.texts import HAS_TEXT


def find_near_duplicates(database: Database, threshold: float) -> int:
    _sign_unsigned(database)
    found = database.query(
        "SELECT id, signature FROM documents JOIN signatures ON document = id"
        f" WHERE {HAS_TEXT} AND NOT removed AND length(signature) = ? ORDER BY characters DESC, path",
        (SIGNATURE_BYTES,),
    )
    numbers = [number for number, _ in found]
    data = b"".join(signature for _, signature in found)
    signatures = np.frombuffer(data, "<u2").reshape(-1, SIGNATURE_VALUES)  # (N, K)
    originals, similarities = find_originals(signatures, threshold)
    flagged = np.flatnonzero(originals >= 0)
    with database.transaction():
        database.query("UPDATE documents SET near = 0, similarity = 0 WHERE near != 0")
        database.change_all(
            "UPDATE documents SET near = ?, similarity = ? WHERE id = ?",
            [(numbers[originals[one]], float(similarities[one]), numbers[one]) for one in flagged],
        )
    return len(flagged)


def near_duplicates(database: Database) -> list[int]:
    found = database.query(
        "SELECT documents.id FROM documents JOIN documents AS original ON original.id = documents.near"
        f" WHERE documents.included AND documents.{HAS_TEXT} AND NOT documents.removed"
        f" AND original.{HAS_TEXT} AND original.included AND NOT original.removed ORDER BY documents.id"
    )
    return [number for (number,) in found]


def _sign_unsigned(database: Database) -> None:
    """Texts that an older version kept have no signatures yet."""
    unsigned = database.query(
        "SELECT id, text_bytes FROM documents JOIN texts ON texts.document = id"
        " LEFT JOIN signatures ON signatures.document = id WHERE signature IS NULL AND NOT removed"
    )
    for step in steps_of(unsigned):
        with database.transaction():
            for document_id in step:
                # Another instance may have removed it in the meantime.
                texts = database.query("SELECT text FROM texts WHERE document = ?", (document_id,))
                for (text,) in texts:
                    database.query(
                        "INSERT OR IGNORE INTO signatures VALUES (?, ?)",
                        (document_id, digest_text(text).signature),
                    )
