"""How hard a text is: what a byte of some of it costs a trigram, remembered."""

import numpy as np

from core.batches.baselines import Trigram, measure
from core.config.corpus import Split
from core.config.run import RunConfig
from core.control import StopToken
from core.corpus.library import Library
from core.errors.base import UserFacingError
from core.lake.library import LakeLibrary
from core.lake.opening import is_lake, open_library
from core.metrics import bits_per_byte
from core.runs.folder import Workspace
from core.runs.measurements import remember, remembered

TEXT_BITS = "trigram bits"  # the kind of these measurements
MOST_BYTES = {"train": 1 << 20, "val": 256 << 10}  # of either side that are looked at
N_BYTES, FEWEST_BYTES = 256, 3  # values of a byte; of a trigram
MOST_OF_ONE = 32 << 10  # characters


def text_bits(workspace: Workspace, run: RunConfig, stop: StopToken) -> float:
    """What a byte of a run's validation text costs after two others, in bits; 0 where there is too little text.

    What follows on two bytes is counted in training text. A compressor would find whole phrases again, which a small model does not.

    Raises:
        StopRequested: `stop` was set before it was known.
    """
    if not (workspace.library.exists() or is_lake(workspace)):
        return 0.0
    try:
        with open_library(workspace) as library:
            totals = library.totals(run.corpus)
            of = f"{totals} {run.corpus.model_dump_json()} {run.cleaning.model_dump_json()}"
            known = remembered(workspace, TEXT_BITS, of).get("bits")
            if isinstance(known, float) and known > 0:
                return known
            before, text = (_sample(library, run, split) for split in ("train", "val"))
    except (OSError, UserFacingError):  # whoever opens it says what is wrong
        return 0.0
    if min(len(before), len(text)) < FEWEST_BYTES:
        return 0.0
    counted, asked = (np.frombuffer(sample, np.uint8).astype(np.int64) for sample in (before, text))
    summed = measure(Trigram([counted], N_BYTES), asked, np.ones(N_BYTES, np.int32), stop)
    bits = bits_per_byte(summed.nats, summed.tokens)
    remember(workspace, TEXT_BITS, of, {"bits": bits})
    return bits


def _sample(library: Library | LakeLibrary, run: RunConfig, split: Split) -> bytes:
    """Beginnings of documents of one side, as many as are looked at."""
    found, size = [], 0
    for passage in library.passages(split, run.corpus, run.cleaning):
        found.append(passage.text[:MOST_OF_ONE].encode("utf-8", "replace"))
        size += len(found[-1])
        if size >= MOST_BYTES[split]:
            break
    return b"\n".join(found)
