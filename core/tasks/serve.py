"""The request "serve": a model that answers over HTTP, as OpenAI's interface does, until it is told to stop."""

from collections.abc import Generator

from core.config.sampling import WeightsFormat
from core.config.server import ServerConfig
from core.control import StopToken
from core.events import Event
from core.runs.folder import Workspace
from core.tasks.open_model import OpenModel, open_model


def serve(
    workspace: Workspace,
    name: str,
    checkpoint: str,
    config: ServerConfig,
    stop: StopToken,
    weights: WeightsFormat | None = None,
) -> Generator[Event, None, None]:
    """Open a model as `open_model` does, and serve it."""
    model = yield from open_model(workspace, name, checkpoint, stop, weights)
    yield from serve_model(model, config, stop)


def serve_model(model: OpenModel, config: ServerConfig, stop: StopToken) -> Generator[Event, None, None]:
    """Answer requests with an open model until `stop` is set. Others may go on using the model beside it.

    The caller's thread decodes; one other thread talks to the clients. Between two events they wait a tenth of a second
    at most for whoever follows them.
    """
    raise NotImplementedError
    yield
