"""The command that lists what a run can be told."""

from typing import Any

import typer

from core.commands.place import print_rows
from core.config.setting import Setting, describe
from core.config.toml import setting_groups

app = typer.Typer()


@app.command()
def settings(context: typer.Context) -> int:
    """List every setting of a run, with its default and limits."""
    rows = [
        {
            "name": f"{group}.{setting.name}",
            "default": setting.default if context.obj.as_json else _default(setting),
            "limits": _limits(setting),
            "help": setting.help,
        }
        for group, model in setting_groups().items()
        for setting in describe(model)
    ]
    print_rows(context, "setting", ("name", "default", "limits", "help"), rows)
    return 0


def _default(setting: Setting) -> Any:
    return setting.default if setting.default not in (None, "") else setting.empty


def _limits(setting: Setting) -> str:
    if setting.choices:
        return " | ".join(setting.choices)
    number = "{:,.0f}" if setting.kind == "whole" else "{:g}"
    marks = "≥" if setting.minimum_allowed else ">", "≤" if setting.maximum_allowed else "<"
    limits = [
        f"{mark} {number.format(limit)}"
        for mark, limit in zip(marks, (setting.minimum, setting.maximum), strict=True)
        if limit is not None
    ]
    return f"{', '.join(limits)} {setting.unit}".strip()
