"""What can be said about a run before it starts: its parameters, the corpus in tokens, the epochs, the snapshots' size.

Estimates are marked with ≈.
"""

from pathlib import Path, PurePath

from core.config.model import count_parameters
from core.config.run import RunConfig
from core.corpus.library import CorpusTotals
from core.tasks.plan_warnings import rounded
from core.tasks.run_estimate import estimate_run, snapshot_cost
from core.wording import counted


def parameters(run: RunConfig) -> str:
    """The weights that training would change, such as "Up to 3,674,624 parameters": a vocabulary can come out smaller."""
    if run.tokenizer.kind == "char":
        return f"≈ {rounded(estimate_run(run, CorpusTotals(0, 0, 0)).parameters)} parameters"
    return f"Up to {counted(count_parameters(run.model, run.tokenizer.vocab_size), 'parameter')}"


def corpus(run: RunConfig, totals: CorpusTotals) -> str:
    """The corpus in tokens, and how often the run would read it."""
    estimate = estimate_run(run, totals)
    place = f" in {PurePath(run.corpus.folder).name or run.corpus.folder}" if run.corpus.folder else ""
    place = place or (" in the chosen documents" if run.corpus.is_filtered else "")
    if not estimate.training_tokens:
        return f"No text{place} yet" if _exists(run.corpus.folder) else f"{run.corpus.folder} does not exist"
    return f"≈ {rounded(estimate.tokens)} tokens of text{place}, ≈ {_epochs(estimate.epochs)}"


def snapshots(run: RunConfig, totals: CorpusTotals) -> str:
    """How many snapshots the run keeps and what they take on the disk; empty where it keeps none."""
    estimate = estimate_run(run, totals)
    if not estimate.snapshots:
        return ""
    return snapshot_cost(estimate.snapshots, estimate.snapshot_bytes, about="≈ ")


def _exists(folder: str) -> bool:
    """Whether documents can be there; "" stands for the whole library."""
    return not folder or Path(folder).exists()


def _epochs(epochs: float) -> str:
    return f"{rounded(round(epochs))} epochs" if epochs >= 10 else f"{epochs:.2g} epochs"
