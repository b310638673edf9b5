"""The request "show what a run reported": its journal, and what the doctor says of a run that was never watched."""

from core.config.doctor import DoctorConfig
from core.control import StopToken
from core.diagnosis.doctor import Doctor
from core.errors.runs import DamagedRunError
from core.events.base import Task
from core.events.runs import RemarkMade
from core.runs.catalog import Catalog
from core.runs.folder import Workspace


def review_run(workspace: Workspace, name: str, stop: StopToken) -> Task[None]:
    """The events that a run reported so far, oldest first. Where no remark is among them, those follow that it deserves.

    Raises:
        UnknownRunError: There is no such run.
    """
    catalog = Catalog(workspace)
    try:
        config = catalog.config(name).doctor
    except DamagedRunError:
        config = DoctorConfig()
    doctor, late = Doctor(config), list[RemarkMade]()
    watched = False
    for event in catalog.events(name):
        if stop.asked:
            return
        yield event
        watched |= isinstance(event, RemarkMade)
        late += doctor.take(event)
    yield from () if watched else late
