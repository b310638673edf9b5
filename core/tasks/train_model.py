"""The request "train a model": from the library's documents to a run with checkpoints, as a stream of events.

torch is imported only when the stream is asked for its first event, so that a window can import this file.
"""

from core.config.run import RunConfig
from core.control import StopToken
from core.run_errors import RunExistsError
from core.runs.catalog import is_run
from core.runs.folder import Workspace
from core.runs.repair import remove_stubs
from core.tasks.journaled_run import Stream, train_run
from core.tasks.run_setup import build_run_dataset, hold_run, lay_out_run
from core.tasks.tensorboard_files import check_tensorboard


def train_model(workspace: Workspace, name: str, config: RunConfig, stop: StopToken) -> Stream:
    """Train a new run to its last step, or until `stop` is set; then it can be resumed.

    Stopped before its first checkpoint, it leaves no run, and its name is free.

    Raises:
        RunExistsError, BadRunNameError: The name is taken, or cannot be one. Nothing is changed.
        EmptyCorpusError, CorpusTooSmallError: There is not enough text.
        TensorBoardMissingError: A setting needs its package. Nothing is changed.
        DiskFullError, TrainingDivergedError, OutOfMemoryError: Training ended early; checkpoints are kept.
    """
    folder = workspace.run(name)
    check_tensorboard(config)
    remove_stubs(workspace)
    if is_run(folder):
        raise RunExistsError(name)
    dataset = yield from build_run_dataset(workspace, config, stop)
    if dataset is None:
        return (yield from train_run(workspace, folder, config, None, stop))
    with hold_run(folder):
        if is_run(folder):  # another process was faster
            raise RunExistsError(name)
        lay_out_run(folder, dataset)
        return (yield from train_run(workspace, folder, config, dataset, stop))
