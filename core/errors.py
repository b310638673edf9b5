"""Every failure that a person can act on: what happened, what to do next, and the exit code of the command line."""

from pathlib import Path
from typing import ClassVar

from core.wording import counted


class UserFacingError(Exception):
    """A failure in the user's words.

    A subclass hands all its arguments to `super().__init__`, so that it survives the way out of a worker
    process, and then sets `message` (what happened) and `remedy` (what to do next), each a sentence.
    """

    exit_code: ClassVar[int] = 1
    message: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        return self.message


class UsageError(UserFacingError):
    """Something that was asked for does not exist or is out of its limits."""

    exit_code = 2


# What was asked for


class UnknownSettingError(UsageError):
    """A setting that no config model has."""

    def __init__(self, name: str, nearest: str) -> None:
        super().__init__(name, nearest)
        self.message = f"There is no setting named {name!r}."
        self.remedy = (
            f"Did you mean {nearest!r}?" if nearest else "See `python main.py settings` for all of them."
        )


class BadSettingError(UsageError):
    """A value out of its limits, of the wrong type, or at odds with another setting."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.message = f"The setting {name} {reason}."
        self.remedy = "Change the value and try again."


class UnknownPresetError(UsageError):
    """A preset that does not exist."""

    def __init__(self, name: str, nearest: str, known: str) -> None:
        super().__init__(name, nearest, known)
        self.message = f"There is no preset named {name!r}."
        self.remedy = f"Did you mean {nearest!r}?" if nearest else f"The presets are {known}."


class BadConfigFileError(UsageError):
    """A TOML file that cannot be read as a run."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.message = f"{path} could not be read as a run's settings: {reason}."
        self.remedy = "Correct the file, or leave it out and choose a preset with --preset."


class PasswordOnCommandLineError(UsageError):
    """A password among the arguments, where every user of the machine could read it."""

    def __init__(self) -> None:
        super().__init__()
        self.message = "--password takes no value: every user of this machine can read command lines."
        self.remedy = (
            "Give --password alone to be asked for it, or set the environment variable SHEEPOP_PASSWORD."
        )


class PasswordUnaskedError(UsageError):
    """A password is to be asked for where nobody could answer."""

    def __init__(self) -> None:
        super().__init__()
        self.message = "There is no terminal to ask for the password."
        self.remedy = "Set the environment variable SHEEPOP_PASSWORD."


# Files and documents


class MissingPathError(UserFacingError):
    """A path that does not exist."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.message = f"{path} does not exist."
        self.remedy = "Check the spelling, or choose another file or folder."


class UnreadableDocumentError(UserFacingError):
    """A file that is damaged, or not what its name says. `reason` completes "could not be read: ..."."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason
        self.message = f"{path.name} could not be read: {reason}."
        self.remedy = "Check that it opens in another program, or leave it out of the import."


class EncryptedDocumentError(UnreadableDocumentError):
    """A document that asks for a password; `tried` where the one that was given does not open it."""

    def __init__(self, path: Path, tried: bool = False) -> None:
        super().__init__(path, "the password does not open it" if tried else "it is locked with a password")
        self.args = (path, tried)
        self.remedy = "Give its password in the Corpus tab (or --password), or import a copy without one."


class UnsupportedDocumentError(UnreadableDocumentError):
    """A file of a kind that the program has no reader for."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.message = f"{path.name} is not supported: {reason}."
        self.remedy = "Convert it to text, PDF or an image, or leave it out."


class SealedDocumentError(UnsupportedDocumentError):
    """A document that is encrypted in a way that no password opens here, such as an office document."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "it is encrypted; save a copy without a password, and import that")
        self.args = (path,)
        self.remedy = "Word removes the password under File > Info > Protect Document."


class OcrUnavailableError(UserFacingError):
    """Tesseract, or one of its languages, is not installed."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason, remedy)
        self.message = f"Scanned pages cannot be read: {reason}."
        self.remedy = remedy


# The corpus


class EmptyCorpusError(UserFacingError):
    """Nothing to train on: no text at all, or none in the folder that was chosen."""

    def __init__(self, folder: str = "") -> None:
        super().__init__(folder)
        if folder:
            self.message = f"None of the included documents with text lies in {folder}."
            self.remedy = "Include documents there, or choose another folder, or none, to take all documents."
            return
        self.message = "There is no text to train on yet."
        self.remedy = "Add documents in the Corpus tab (or `python main.py import PATH`), or add the sample corpus (`python main.py sample`)."


class CorpusTooSmallError(UserFacingError):
    """Less text than one window of the model's context. Sizes in tokens."""

    def __init__(self, split: str, tokens: int, needed: int) -> None:
        super().__init__(split, tokens, needed)
        text = counted(tokens, "token")
        self.message = f"The {split} text has {text}; one training sequence needs {needed:,}."
        self.remedy = "Add more documents, or choose a shorter context."


class UnknownDocumentError(UsageError):
    """A document number that the library does not hold."""

    def __init__(self, document_id: int) -> None:
        super().__init__(document_id)
        self.message = f"There is no document number {document_id}."
        self.remedy = "List them with `python main.py documents`."


class NothingInterruptedError(UserFacingError):
    """There is no import to go on with."""

    def __init__(self) -> None:
        super().__init__()
        self.message = "No import was interrupted: there is nothing to continue."
        self.remedy = "Import files with `python main.py import PATH`."


class OnlyOwnFilesError(UserFacingError):
    """Nothing but the workspace's own files was named for an import."""

    message = "The workspace's own files are not imported, and no others were given."
    remedy = "Choose other files or folders."


class SampleMissingError(UserFacingError):
    """The sample corpus was not written into this workspace."""

    def __init__(self) -> None:
        super().__init__()
        self.message = "This workspace has no sample corpus, so there are no held-out questions to ask."
        self.remedy = "Add it with `python main.py sample`, and train a run on it."


class DamagedDatasetError(UserFacingError):
    """A data set in which a file is missing or unreadable."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.message = f"The data set {name!r} cannot be used: {reason}."
        self.remedy = "Start the training again: it rebuilds the data set from the library."


class LearningEndedError(UserFacingError):
    """The process that learned a vocabulary was ended from outside. `how` names the signal or its exit code."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.message = f"Training the tokenizer failed: the system ended its process ({how})."
        self.remedy = (
            "Usually memory ran out. Close other programs or lower tokenizer.learn_mib, then try again."
        )


class LostDatasetError(DamagedDatasetError):
    """A run's data set that is damaged or gone, and can't be built again: the library has other text now."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.remedy = (
            "The library has changed since, so it can't be rebuilt: restore the folder from a backup, or the "
            "documents as they were, or train a new run."
        )


class DamagedLibraryError(UserFacingError):
    """A library file that is damaged, or not a library of this program. It is left as it is."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.message = f"The library {path} cannot be opened: {reason}. Nothing in it was changed."
        self.remedy = "Restore it from a backup, or move the file away and import the documents again."


# Runs and checkpoints


class UnknownRunError(UserFacingError):
    """A run that does not exist."""

    def __init__(self, name: str, nearest: str) -> None:
        super().__init__(name, nearest)
        self.message = f"There is no run named {name!r}."
        self.remedy = f"Did you mean {nearest!r}?" if nearest else "List the runs with `python main.py runs`."


class RunExistsError(UserFacingError):
    """A new run under a name that is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.message = f"A run named {name!r} exists already, and nothing in it was changed."
        self.remedy = "Choose another name, or resume it (--resume, or Resume in the Train tab)."


class BadRunNameError(UsageError):
    """A name that cannot be a folder's on every system."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.message = f"{name!r} cannot be a run's name."
        self.remedy = "Use at most 64 letters, digits, '-', '_' and '.', starting with a letter or digit."


class RunBusyError(UserFacingError):
    """Another process is training this run."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.message = f"The run {name!r} is being trained by another window or command."
        self.remedy = "Wait for it to end, stop it there, or start a run with another name."


class RunFinishedError(UserFacingError):
    """A run that has taken all its steps. `higher_limit` is the setting that would let it go on."""

    def __init__(self, name: str, steps: int, higher_limit: str) -> None:
        super().__init__(name, steps, higher_limit)
        self.message = f"The run {name!r} has taken all of its {counted(steps, 'step')}."
        self.remedy = f"To train further, raise the limit: --resume --set {higher_limit}."


class NoCheckpointError(UserFacingError):
    """A run, or a step of it, without a checkpoint."""

    def __init__(self, name: str, which: str, known: str) -> None:
        super().__init__(name, which, known)
        self.message = f"The run {name!r} has no checkpoint {which!r}."
        self.remedy = (
            f"Choose one of: {known}."
            if known
            else "Train it first; the first checkpoint follows the first evaluation."
        )


class DamagedCheckpointError(UserFacingError):
    """A checkpoint whose files are missing, cut short or altered."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.message = f"The checkpoint {path.name} is damaged: {reason}."
        self.remedy = "Choose another checkpoint of the run (best, last or an earlier step)."


class WrongShapeError(UserFacingError):
    """A checkpoint of another model than its settings describe."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.message = f"The checkpoint {path.name} does not fit the run's settings: {reason}."
        self.remedy = "Restore the run.toml that it was trained with, or choose another run."


class DamagedRunError(UserFacingError):
    """A run's folder in which a file is missing or unreadable."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.message = f"The run {name!r} cannot be opened: {reason}."
        self.remedy = "Restore the file from a backup, or delete the run's folder and train a new run."


class TrainingDivergedError(UserFacingError):
    """A loss or gradient that is not a finite number."""

    def __init__(self, step: int) -> None:
        super().__init__(step)
        self.message = (
            f"Training diverged at step {step:,}: the loss or the gradient norm is NaN or infinite."
        )
        self.remedy = "The last checkpoint is kept. Lower learning_rate, raise warmup_steps, or choose precision float32."


class OutOfMemoryError(UserFacingError):
    """A model or batch that does not fit."""

    def __init__(self) -> None:
        super().__init__()
        self.message = "The model and its batch do not fit into memory."
        self.remedy = "Lower batch_size (and raise gradient_accumulation_steps), context_length or d_model."


class ModelTooLargeError(OutOfMemoryError):
    """A model that cannot fit, found out before it was built. Sizes in bytes."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__()
        self.args = (needed, available)
        self.message = (
            f"The model needs at least {needed / 2**30:,.1f} GiB of memory, "
            f"and {available / 2**30:,.1f} GiB are free."
        )
        self.remedy = (
            "Lower batch_size, context_length, n_layers or d_model, or use a machine with more memory."
        )


class CompileFailedError(UserFacingError):
    """A model that torch.compile could not compile. `reason` is what it said."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.message = f"The model could not be compiled: {reason}"
        self.remedy = "Set training.compile to false, or install a C++ compiler such as g++."


class DeviceMissingError(UserFacingError):
    """A device that this machine, or this build of torch, lacks."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.message = f"The device {device!r} is not available here."
        self.remedy = "Set training.device to auto or cpu."


# The machine


class NoDisplayError(UsageError):
    """A window was asked for where there is no screen."""

    def __init__(self) -> None:
        super().__init__()
        self.message = "There is no display to open a window on."
        self.remedy = "Start it from a desktop session, or use the command line: `python main.py --help`."
