"""Where a failure meets the window: what is foreseen or the system refuses becomes a sentence, the rest is ours."""

from app.widgets.banner import Banner
from core.errors.base import UserFacingError
from core.errors.system import system_error

DEFECT = "Something went wrong inside the program."
DEFECT_REMEDY = "Choose Help > Report a problem, which shows the details to pass on."


def present(error: BaseException, banner: Banner) -> None:
    """Foreseen failures, and what the system refuses, become a line in the tab; anything else is owned as our defect."""
    banner.show_problem(*sentences(error))


def sentences(error: BaseException) -> tuple[str, str]:
    """What happened, and what to do."""
    if isinstance(error, OSError):
        error = system_error(error)
    if isinstance(error, UserFacingError):
        return error.message, error.remedy
    return DEFECT, DEFECT_REMEDY
