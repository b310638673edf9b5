"""What the user chooses about the server that answers over HTTP."""

import ipaddress
import re

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from core.config.setting import Config, setting

ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/\s]+/?", re.IGNORECASE)


class ServerConfig(Config):
    """Where a server listens, who may ask it, and how much it takes on."""

    host: str = setting(
        "127.0.0.1",
        "Address",
        "The address to listen on. 127.0.0.1: only programs on this machine; 0.0.0.0: all networks.",
    )
    port: int = setting(
        8000,
        "Port",
        "The port to listen on; 0: one that is free.",
        advanced=False,
        ge=0,
        le=65535,
    )
    allow_network: bool = setting(
        False,
        "Open to the network",
        "Allows an address that other machines reach. They need the token.",
    )
    token: str = setting(
        "",
        "Token",
        "What requests must bring as a bearer token (an API key); empty: none is needed.",
        secret=True,
    )
    origins: tuple[str, ...] = setting(
        (),
        "Web pages",
        "Origins of web pages that may ask, such as http://localhost:3000; * stands for all.",
    )
    slots: int = setting(
        8,
        "Replies at once",
        "The most replies that are written at once; fewer where their caches would need too much memory.",
        ge=1,
        le=64,
    )
    queue: int = setting(
        64,
        "Waiting requests",
        "The most requests that wait for a place; those beyond are told to try again later.",
        ge=0,
        le=10_000,
    )
    body_mib: int = setting(
        4,
        "Largest request",
        "The most that a request may hold.",
        unit="MiB",
        ge=1,
        le=64,
    )

    @field_validator("origins")
    @classmethod
    def _refuse_what_no_page_sends(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        if not all(map(ORIGIN.fullmatch, origins)):
            raise PydanticCustomError("origin", "An origin is like http://localhost:3000, without a path")
        return origins

    @property
    def is_loopback(self) -> bool:
        """Whether only programs on this machine reach the address."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:  # a name
            return self.host == "localhost"
