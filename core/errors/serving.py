"""What can go wrong with a server as a whole, in the user's words."""

from core.errors.base import UsageError, UserFacingError


class ServerPackagesMissingError(UserFacingError):
    """The packages that a server needs are not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.message = f"The server needs a package that is not installed: {package}."
        self.remedy = (
            'Install it with pip install "sheepop-studio[serve]" (the packaged program cannot use it).'
        )


class PortTakenError(UserFacingError):
    """Another program, or another server of ours, listens there already."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.message = f"Port {port} of {host} is already in use, perhaps by another server of this program."
        self.remedy = "Stop that program, or choose another port with --port; 0 picks a free one."


class CannotListenError(UserFacingError):
    """An address or a port on which the system lets nobody listen. `reason` completes "...: ..."."""

    def __init__(self, host: str, port: int, reason: str) -> None:
        super().__init__(host, port, reason)
        self.message = f"The server cannot listen on port {port} of {host}: {reason}."
        self.remedy = "Choose an address of this machine (--host 127.0.0.1) and a port of 1024 or higher."


class NetworkNotAllowedError(UsageError):
    """An address that other machines reach, without a word that this is meant, or without a token."""

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.message = f"Other machines could reach a server on {host}."
        self.remedy = "Add --allow-network, which needs a token, or leave --host out."


class TokenMissingError(UsageError):
    """A server for other machines without a token."""

    message = "A server that other machines reach needs a token."
    remedy = "Set one: requests then send it as an API key."


class ServerFailedError(UserFacingError):
    """The thread that talks to clients has ended by itself."""

    message = "The server has stopped answering."
    remedy = "Start it again; if that happens again, report it with the log."
