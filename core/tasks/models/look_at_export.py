"""The request to see how a run could be exported: which formats can hold it, and how large each would be."""

from dataclasses import dataclass
from pathlib import Path

from core.control import StopToken
from core.events.base import at_once
from core.export.formats import FORMATS, format_named
from core.export.material import NUMBER_BYTES, Shape
from core.model.requirements import trained_parameters
from core.runs.catalog import Catalog, read_config
from core.runs.folder import Workspace
from core.tasks.models.export_model import export_name
from core.tokenizers.files import load_tokenizer


@dataclass(frozen=True, slots=True)
class ExportOffer:
    """One format for one run. By number type: why it cannot be, clauses, none where it can; and about how many bytes it has."""

    name: str
    title: str
    file_name: str
    obstacles: dict[str, tuple[str, ...]]
    bytes: dict[str, int]

    def is_file_at(self, path: Path) -> bool:
        """Return whether an export to this place is one file, rather than a folder."""
        known = format_named(self.name)
        return bool(known.suffix) or path.suffix.lower() == known.model_suffix != ""


@at_once
def look_at_export(workspace: Workspace, name: str, stop: StopToken) -> tuple[ExportOffer, ...]:
    """All formats, for this run's model; nothing is opened.

    Raises:
        UnknownRunError, DamagedRunError: There is no such run, or its files cannot be read.
    """
    stop.raise_if_asked()
    summary, run = Catalog(workspace).summary(name), Catalog(workspace).folder(name)
    config, tokenizer = read_config(run), load_tokenizer(run.tokenizer)
    rank, adapter = (
        config.training.lora_rank,
        trained_parameters(config.model, tokenizer.vocab_size, config.training),
    )
    return tuple(
        ExportOffer(
            known.name,
            known.title,
            export_name(name, known),
            {
                kind: tuple(known.obstacles_of(Shape(config.model, tokenizer, kind, rank)))
                for kind in known.number_types
            },
            {
                kind: round(
                    (adapter if known.is_of_adapters else summary.parameters)
                    * NUMBER_BYTES[kind]
                    * known.growth
                )
                + known.besides
                for kind in known.number_types
            },
        )
        for known in FORMATS
        if rank or not known.is_of_adapters
    )
