"""The reference documents' worked examples as ready-made steps, each computed here from the numbers that it is given.

Where a document's own figure is wrong, the case says which, and what is right.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from core.inspection import cases_model, cases_text, cases_training
from core.inspection.steps import Arithmetic, WorkedStep
from core.inspection.table import Table


@dataclass(frozen=True, slots=True)
class Worked:
    """A case that has been computed.

    Attributes:
        numbers: What is given and what comes out, by name.
    """

    numbers: Mapping[str, object]
    steps: tuple[WorkedStep, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One worked example.

    Attributes:
        name: Unique, for the command line.
        document: Its number and section.
        mistake: What the document says otherwise; "" where it is right.
    """

    name: str
    document: str
    title: str
    about: str
    compute: Callable[[], tuple[Mapping[str, object], tuple[WorkedStep, ...]]]
    mistake: str = ""

    def worked(self) -> Worked:
        return Worked(*self.compute())

    def arithmetic(self) -> Arithmetic:
        about = f"Document {self.document}. {self.about}"
        return Arithmetic(self.title, f"{about} {self.mistake}".strip(), self.worked().steps)

    def table(self) -> Table:
        """One row for each line."""
        return self.arithmetic().as_table()


_position, _softmax, _norm = cases_model.sinusoidal_position, cases_model.softmax_of, cases_model.layer_norm

CASES: tuple[Case, ...] = (
    Case("char-vocabulary", "000 1.2", "Character vocabulary", "Special tokens first, then characters by code point.",
         cases_text.char_vocabulary, "The document puts z at 129; with the printable characters of ASCII z is 94."),
    Case("chunking", "000 1.3", "Chunking", "Windows of 5 tokens; the last one is padded.", cases_text.chunking),
    Case("ascii-ids", "001 14.1", "ASCII ids", "A vocabulary in which each character's id is its code.", cases_text.ascii_ids),
    Case("sinusoidal-positions-1", "000 3.3", "Sinusoidal positions: 0", "Dimensions 0 and 1.", partial(_position, 0, 0)),
    Case("sinusoidal-positions-2", "000 3.3", "Sinusoidal positions: 1", "Dimensions 0 and 1.", partial(_position, 1, 0)),
    Case("sinusoidal-positions-3", "001 15", "Sinusoidal positions: 2", "Dimensions 0 and 1.", partial(_position, 2, 0)),
    Case("sinusoidal-positions-4", "001 15", "Sinusoidal positions: 5", "Dimensions 0 and 1.", partial(_position, 5, 0)),
    Case("sinusoidal-positions-5", "001 15", "Sinusoidal positions: 1, dimensions 2 and 3", "The next frequency.",
         partial(_position, 1, 2, (0.01, 0.0)), "The document says 0.01 and 0.00 there; the formula gives 0.8219 and 0.5697."),
    Case("wavelengths", "000 3.1", "Wavelengths of sinusoidal positions", "After how many positions a pair comes round again.",
         cases_model.wavelengths),
    Case("score-scaling", "001 14.1", "Scaled score", "One query with one key.", cases_model.score_scaling),
    Case("causal-softmax", "000 4.4-4.5", "Causal softmax", "Scores of three positions, masked, row by row.",
         cases_model.causal_softmax, "Of row 3 the document says 0.268, 0.263, 0.469; these are 0.3199, 0.2894, 0.3907."),
    Case("softmax-1", "004 3.1.1", "Softmax of three scores", "Sharp: the largest takes most.", partial(_softmax, (4, 2, 0))),
    Case("softmax-2", "001 14.1", "Softmax of eleven scores", "Nearly even: the scores are close.",
         partial(_softmax, (-0.004, 0.05, 0.02, 0.02, 0.08, -0.01, 0.03, 0.08, 0.01, 0.02, 0.04))),
    Case("softmax-3", "001 15 stage 4", "Softmax of five scores", "The first row of its score matrix.",
         partial(_softmax, (0.5, -0.1, 0.2, 0.15, 0.3), (0.35, 0.15, 0.22, 0.2, 0.28)),
         "The document says 0.35, 0.15, 0.22, 0.20, 0.28, which do not sum to 1."),
    Case("layer-norm-1", "000 6.1", "Layer norm of four numbers", "Before scale and shift.", partial(_norm, (1, 2, 3, 4), 1e-5)),
    Case("layer-norm-2", "004 7.1.2", "Layer norm of three numbers", "Without ε.", partial(_norm, (60, 70, 90), 0.0, 177.78),
         "The document says that the variance is 177.78; it is 155.56."),
    Case("gelu", "001 14.1 step 5", "GELU", "Exact, and by its tanh approximation.", cases_model.gelu),
    Case("cross-entropy", "004 3.2", "Cross-entropy", "Of one prediction.", cases_training.cross_entropy_of),
    Case("masked-cross-entropy", "000 9.1", "Masked cross-entropy", "Padding (−100) does not count.",
         cases_training.masked_cross_entropy),
    Case("perplexity", "000 9.2", "Perplexity", "Of a loss.", cases_training.perplexity_of),
    Case("gradient-clipping", "000 10.3", "Gradient clipping", "By the global norm.", cases_training.gradient_clipping),
    Case("adamw", "000 11.2", "AdamW", "Two steps of one parameter.", cases_training.adamw,
         "Section 11.3 multiplies by 1 − λ; the decay is η·λ·θ, of θ before the step."),
    Case("cosine-schedule", "000 12.1", "Cosine schedule", "The learning rate at five steps.", cases_training.cosine_schedule),
    Case("top-p", "000 13.4", "Top-p", "The smallest set that reaches p.", cases_text.top_p),
    Case("parameter-count", "004 8.2.2", "Parameter count", "The weights of GPT-2 small, without biases, norms and positions.",
         cases_model.parameter_count, "The formula in the document counts the embedding twice, which gives 161.7 million; it quotes 124 million, "
         "the count with tied embeddings."),
)  # fmt: skip
