"""What the program's HTML pages are made of: templates that lie in `resources`."""

from typing import Any

import jinja2
from markupsafe import Markup

from core.system.resources import resource
from core.wording import figure, printable


def template(path: str) -> jinja2.Template:
    """The template of a page below `resources`; it includes others by paths from there.

    What it is given stands in the page as text, with signs for what would not be seen, or would turn the page around.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resource("")),
        autoescape=True,
        finalize=_printed,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figure"] = figure
    return environment.get_template(path)


def _printed(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value, kept="\n")
    return value
