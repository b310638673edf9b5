"""The request "which port is free": for whoever finds the one that was meant taken."""

import socket

LAST_PORT = 65_535


def next_free_port(host: str, port: int) -> int:
    """The next port after `port` that nobody listens on now; 0, which lets the system choose, where there is none."""
    for candidate in range(port + 1, min(port + 100, LAST_PORT) + 1):
        with socket.socket() as trial:
            try:
                trial.bind((host, candidate))
            except OSError:
                continue
            return candidate
    return 0
