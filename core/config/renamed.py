"""Settings that have another name today: files with the old one are read, and hashes are made as they always were."""

import json
from typing import Any

from core.config.setting import Config

RENAMED = {"cleaning": {"page_furniture": "headers_footers"}}  # by group: the name until 0.1, and today's


def with_new_settings(groups: dict[str, Any]) -> dict[str, Any]:
    """The settings of a run as groups of plain values, written by any version, under today's names."""
    return {
        group: {RENAMED.get(group, {}).get(name, name): value for name, value in values.items()}
        if isinstance(values, dict)
        else values
        for group, values in groups.items()
    }


def new_name(setting: str) -> str:
    """A setting's dotted name of today, from that of any version."""
    group, dot, name = setting.rpartition(".")
    return f"{group}{dot}{RENAMED.get(group, {}).get(name, name)}"


def first_json(group: str, config: Config) -> str:
    """A group's settings as JSON under the names they had first: what is hashed, so that a renamed setting is no new one."""
    old_names = {new: old for old, new in RENAMED.get(group, {}).items()}
    values = config.model_dump(mode="json")
    return json.dumps(
        {old_names.get(name, name): value for name, value in values.items()}, separators=(",", ":")
    )
