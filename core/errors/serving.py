"""What can go wrong with a server as a whole, in the user's words."""

from core.errors.base import UsageError, UserFacingError


class ServerPackagesMissingError(UserFacingError):
    """The packages that a server needs are not installed."""

    package: str
    message = "The server needs a package that is not installed: {package}."
    remedy = 'Install it with pip install "sheepop-studio[serve]" (the packaged program cannot use it).'


class PortTakenError(UserFacingError):
    """Another program, or another server of ours, listens there already."""

    host: str
    port: int
    message = "Port {port} of {host} is already in use, perhaps by another server of this program."
    remedy = "Stop that program, or choose another port with --port; 0 picks a free one."


class CannotListenError(UserFacingError):
    """An address or a port on which the system lets nobody listen. `reason` completes "...: ..."."""

    host: str
    port: int
    reason: str
    message = "The server cannot listen on port {port} of {host}: {reason}."
    remedy = "Choose an address of this machine (--host 127.0.0.1) and a port of 1024 or higher."


class NetworkNotAllowedError(UsageError):
    """An address that other machines reach, without a word that this is meant, or without a token."""

    host: str
    message = "Other machines could reach a server on {host}."
    remedy = "Add --allow-network, which needs a token, or leave --host out."


class TokenMissingError(UsageError):
    """A server for other machines without a token."""

    message = "A server that other machines reach needs a token."
    remedy = "Set one: requests then send it as an API key."


class ServerFailedError(UserFacingError):
    """The thread that talks to clients has ended by itself."""

    message = "The server has stopped answering."
    remedy = "Start it again; if that happens again, report it with the log."
