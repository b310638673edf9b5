"""How an answer goes to its client: whole, or as server-sent events; a client that leaves ends the work for it."""

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from core.serving.answers import HttpAnswer
from core.serving.api_error import ApiError, defect, new_request_id
from core.serving.desk import Desk, decoded
from core.serving.work import Work

STALL_SECONDS = 60.0  # for a client that takes nothing of its stream
STREAM_HEADERS = {
    "cache-control": "no-store",
    "x-accel-buffering": "no",  # a proxy in between is to pass each token on
}
log = logging.getLogger(__name__)


class AnswerResponse(Response):
    """Sends the answer to a request that was taken on, and lets the request go.

    A stream's headers are sent with what was decoded first, so that what fails before that has its own status.
    """

    def __init__(self, work: Work, answer: HttpAnswer, desk: Desk) -> None:
        super().__init__()
        self._request_id = {"x-request-id": new_request_id()}
        self._work, self._answer, self._desk = work, answer, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it.

        Raises:
            ApiError: Nothing was sent yet, and nothing will come.
            ClientDisconnect: The client left.
        """
        answering = self._stream(send) if self._work.streamed else self._send_whole(scope, receive, send)
        try:
            await unless_left(receive, answering)
        finally:
            self._desk.leave(self._work)

    async def _send_whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        async for event in decoded(self._work):
            for _ in self._answer.take(event):
                pass
        await JSONResponse(self._answer.whole(), headers=self._request_id)(scope, receive, send)

    async def _stream(self, send: Send) -> None:
        events = decoded(self._work)
        first = await anext(events, None)
        content_type = {"content-type": self._answer.media_type}
        headers = Headers(content_type | STREAM_HEADERS | self._request_id).raw
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            for chunk in self._answer.first_chunks():
                await _send_part(send, self._answer.encoded(chunk))
            for chunk in self._answer.take(first) if first else ():
                await _send_part(send, self._answer.encoded(chunk))
            async for event in events:
                for chunk in self._answer.take(event):
                    await _send_part(send, self._answer.encoded(chunk))
            for chunk in self._answer.last_chunks():
                await _send_part(send, self._answer.encoded(chunk))
        except ApiError as error:
            await _send_part(send, self._answer.encoded_error(error))
        except (ClientDisconnect, OSError):
            raise
        except Exception:  # a defect: the stream has begun, so that this is the last frame that can say so
            log.exception("a stream failed")
            await _send_part(send, self._answer.encoded_error(defect()))
        if self._answer.end:
            await _send_part(send, self._answer.end)
        await send({"type": "http.response.body", "body": b""})


async def _send_part(send: Send, body: bytes) -> None:
    try:
        async with asyncio.timeout(STALL_SECONDS):
            await send({"type": "http.response.body", "body": body, "more_body": True})
    except TimeoutError as cause:
        raise ClientDisconnect from cause


async def unless_left(receive: Receive, answering: Coroutine[Any, Any, None]) -> None:
    """Do something for a client while it is there.

    Raises:
        ClientDisconnect: It left.
    """
    work, left = asyncio.create_task(answering), asyncio.create_task(_until_left(receive))
    try:
        await asyncio.wait((work, left), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        work.result()
    finally:
        for task in (work, left):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
