"""Where a failure meets the window: foreseen ones become a sentence with a remedy, the rest is owned as ours."""

from app.widgets.banner import Banner
from core.errors import UserFacingError

DEFECT = "Something went wrong inside the program."
DEFECT_REMEDY = "Choose Help > Report a problem, which copies the details for you."


def present(error: BaseException, banner: Banner) -> None:
    """Foreseen failures become a line in the tab; anything else is owned as our defect."""
    if isinstance(error, UserFacingError):
        banner.show_problem(error.message, error.remedy)
    else:
        banner.show_problem(DEFECT, DEFECT_REMEDY)
