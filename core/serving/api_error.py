"""What a client gets instead of an answer: OpenAI's error object, with the HTTP status that its libraries expect."""

import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class ApiError(Exception):
    """A request that cannot be answered, and why.

    Args:
        status: HTTP's.
        message: Whole sentences: what is wrong, and what would help.
        code: A name for programs to compare.
        param: The field of the request that is wrong, where it is one.
        headers: More of the response's headers.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, code, param, headers)
        self.status, self.message, self.code, self.param = status, message, code, param
        self.headers = dict(headers or {})

    def as_object(self) -> dict[str, Any]:
        """The error as it stands in a response's body or in a stream."""
        kind = TYPES.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        message = self.message.encode("utf-8", "backslashreplace").decode()  # it may quote half a character
        return {"error": {"message": message, "type": kind, "param": self.param, "code": self.code}}

    def response(self) -> JSONResponse:
        """The whole response."""
        return JSONResponse(self.as_object(), self.status, {"x-request-id": new_request_id()} | self.headers)


class LostError(ApiError):
    """A request that was taken on and then could not be answered."""


def unsupported(param: str, message: str) -> ApiError:
    """A field that asks for something that there is not here."""
    return ApiError(400, message, "unsupported_parameter", param)


def invalid(param: str | None, message: str) -> ApiError:
    """A field whose value cannot be used."""
    return ApiError(400, message, "invalid_value", param)


def defect() -> ApiError:
    """What is said of our own mistakes; the log has more."""
    return ApiError(500, "Something went wrong inside the server.", "internal_error")


def http_error(status: int, method: str, path: str, headers: Mapping[str, str] | None = None) -> ApiError:
    """What the routes say of a path that is not there, or of a method that it does not take."""
    if status == HTTPStatus.NOT_FOUND:
        return ApiError(404, f"Unknown request URL: {method} {path}.", "unknown_url", headers=headers)
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        message = f"{path} does not take {method}."
        return ApiError(405, message, "method_not_supported", headers=headers)
    return ApiError(status, f"{HTTPStatus(status).phrase}.", headers=headers)


def new_request_id() -> str:
    """A name for one request, for its response's header and for nothing else."""
    return f"req_{uuid.uuid4().hex}"
