"""Failures of lakes: libraries of shards that an engine makes, and where they lie."""

from pathlib import Path

from core.errors.base import UsageError, UserFacingError

INSTALL = 'Install them with `pip install "sheepop-studio[cluster]"`, in this environment and on every node.'


class ClusterPackagesError(UserFacingError):
    """A package of the extra `cluster` is missing."""

    package: str
    message = "The package {package} is not installed; an engine and its shards need it."
    remedy = INSTALL


class StoreError(UserFacingError):
    """A place in a store that cannot be used. `reason` is what its client says."""

    place: str
    reason: str
    message = "The place {place} cannot be used: {reason}"
    remedy = (
        "Check the address, the network and the credentials in the environment, then run the command again: "
        "it goes on where it stopped."
    )


class NoLakeError(UsageError):
    """A place in which no import by an engine came to its end."""

    place: str
    message = "There is no library of shards in {place}, or its import has not ended."
    remedy = (
        "Make it with `{program} import PATH --engine ray --out DIR`, or run that command again to finish it."
    )


class DamagedLakeError(UserFacingError):
    """A shard that is not what was written."""

    place: str
    name: str
    message = "The shard {name} in {place} is damaged."
    remedy = (
        "Delete it and library.json beside its folder, then run the import again: it makes that shard anew."
    )


class OtherLakeError(UsageError):
    """A place that holds the shards of other files, or of the same ones read in another way."""

    place: str
    message = "{place} holds the shards of another import, of other paths or with other settings."
    remedy = "Choose another --out, or give the same paths and settings to go on with it."


class LakeBusyError(UserFacingError):
    """A lake into which another process imports."""

    place: str
    message = "Another process imports into {place}."
    remedy = "Wait until it has ended."


class LakeReadOnlyError(UserFacingError):
    """A change of a library of shards."""

    folder: Path
    message = "The library in {folder} is made of shards: it can be read and trained on, and not be changed."
    remedy = "Open another workspace for this, or import into other shards with --engine ray --out DIR."


class LakeWorkspaceError(UsageError):
    """A workspace that is to take its library from a store, and has one."""

    folder: Path
    message = "The workspace {folder} has a library of its own; it cannot have that of shards too."
    remedy = "Choose another workspace with --workspace DIR."


class LakeFilterError(UsageError):
    """A part of a run's filter that a library of shards cannot answer."""

    setting: str
    message = "A library of shards has no {setting}: this part of the filter cannot be used."
    remedy = "Leave it out; corpus.folder and corpus.kinds can be used."


class EngineError(UserFacingError):
    """An engine that cannot be reached, or whose workers died again and again."""

    reason: str
    message = "The engine cannot go on: {reason}"
    remedy = "Check the cluster's state and memory, then run the command again: shards that stand are kept."
