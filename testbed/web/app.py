"""The web application: routes of the declared requests and of the page's files, behind the guard."""

from __future__ import annotations

import http
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kuijia_base.errors import InputError, KuijiaError, TestbedError
from kuijia_base.log_lines import part_logger
from testbed.lab.shapes import from_json, to_json
from testbed.web.access import Guard, HostRules, Limiter, Token
from testbed.web.backend import KIND_OF, Action, Backend, Description, RunCommand, SetLink, SetPlan
from testbed.web.bodies import BodyError, parsed, plan_body, read_body
from testbed.web.files import PageFile, page_files
from testbed.web.hub import Hub
from testbed.web.requests import (
    ENDPOINTS,
    SMALL,
    Done,
    Endpoint,
    LinkLiveness,
    Liveness,
    Refusal,
    TunnelLiveness,
    Verdict,
    message_schemas,
    openapi,
)

STALL = 5.0
"""Seconds for which a reader of events may read nothing before it is dropped."""

_WORKS_AT_ONCE = 8
"""Actions and verifications."""

_LARGE_BODIES_AT_ONCE = 3
"""Large bodies in memory, from their first byte until their request is answered."""

_SECONDS_TO_RETRY = 1
_MOST_AFTER = 10**15
_Handler = Callable[[Request], Awaitable[Response]]


class _BusyError(Exception):
    """Too much work is under way."""

    status = http.HTTPStatus.TOO_MANY_REQUESTS.value


def make_app(  # noqa: PLR0913  # all by name
    backend: Backend,
    token: str,
    *,
    hosts: HostRules | None = None,
    view_only: bool = False,
    hub: Hub | None = None,
    limiter: Limiter | None = None,
    files: Mapping[str, PageFile] | None = None,
    stall: float = STALL,
) -> Guard:
    """Return the application that shows a backend.

    Args:
        backend: what is shown; closing it is up to the caller.
        token: the secret that everything below /api/ asks for.
        hosts: names by which the server may be called; by default those of this machine for itself.
        view_only: True to refuse all actions.
        hub: looks at the backend; by default one without a recorder.
        limiter: limits of rates.
        files: of the page; by default those of this package.
        stall: seconds after which a reader that does not read is dropped.
    """
    looking = hub or Hub(backend, view_only=view_only)
    api = _Api(backend, looking, view_only=view_only, stall=stall)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(looking.run)
            yield
            group.cancel_scope.cancel()

    routes = [Route(_path(each), api.handler(each), methods=[each.method]) for each in ENDPOINTS]
    routes += [Route(path, _static(file)) for path, file in (page_files() if files is None else files).items()]
    documents = {"/openapi.json": openapi(), "/schemas/index.json": sorted(message_schemas())}
    documents |= {f"/schemas/{name}.json": schema for name, schema in message_schemas().items()}
    routes += [Route(path, _document(data)) for path, data in documents.items()]
    handlers: Mapping[Any, Any] = {404: _no_such_page, 405: _no_such_method}
    return Guard(
        Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers),
        hosts or HostRules(),
        Token(token),
        limiter,
    )


def _path(each: Endpoint) -> str:
    # Names may have slashes.
    return each.path if each.named is None else each.path.replace("}", ":path}")


class _Api:
    """Handlers of the declared requests."""

    def __init__(self, backend: Backend, hub: Hub, *, view_only: bool, stall: float) -> None:
        self._backend, self._hub, self._view_only, self._stall = backend, hub, view_only, stall
        self._busy = self._large = self._commands = 0

    def handler(self, each: Endpoint) -> _Handler:
        async def answer(request: Request) -> Response:
            try:
                return await (self._read(each, request) if each.read else self._act(each, request))
            except (BodyError, _BusyError) as error:
                return refusal(error.status, str(error))
            except ClientDisconnect:
                return refusal(400, "the body has no end")  # nobody reads it
            except InputError as error:
                return refusal(404 if each.named else 422, str(error))
            except KuijiaError as error:
                is_gone = each.method == "GET" or isinstance(error, TestbedError)
                return refusal(503 if is_gone else 409, str(error))
            except Exception as error:  # noqa: BLE001  # one request's fault must not end the others'
                part_logger("web").exception("%s %s failed", each.method, each.path)
                return refusal(500, f"the server has a fault: {type(error).__name__}")

        return answer

    async def _read(self, each: Endpoint, request: Request) -> Response:
        readers: dict[str, Callable[[], Awaitable[Response]]] = {
            "lab": self._lab,
            "state": self._state,
            "plan": self._plan,
            "topology": self._topology,
            "liveness": self._liveness,
            "verify": lambda: self._verify(each, request),
            "log": lambda: self._log(request),
            "events": lambda: self._events(request),
        }
        return await readers[each.read or ""]()

    async def _lab(self) -> Response:
        return _json_bytes(await self._hub.description())

    async def _state(self) -> Response:
        return _json_bytes(await self._hub.state())

    async def _plan(self) -> Response:
        plan = await anyio.to_thread.run_sync(self._backend.plan)
        return refusal(404, "no plan is in force") if plan is None else _json(plan)

    async def _topology(self) -> Response:
        return _json(await anyio.to_thread.run_sync(self._backend.topology))

    async def _liveness(self) -> Response:
        described = await anyio.to_thread.run_sync(self._backend.describe)
        state = await self._hub.latest()
        view = state.views[0]
        tunnels = tuple(
            TunnelLiveness(each.path_id, each.source, each.target, each.priority, each.path_id not in view.tunnels_dead)
            for each in described.tunnels
        )
        links = tuple(LinkLiveness(each.id, each.up) for each in view.links)
        return _json(to_json(Liveness(state.time, links, view.nodes_down, tunnels)))

    async def _verify(self, each: Endpoint, request: Request) -> Response:
        with self._large_body():
            plan = plan_body(await _data(each, request))
            with self._work():
                found = tuple(await anyio.to_thread.run_sync(self._backend.verify, plan))
        return _json(to_json(Verdict(not found, found)))

    async def _log(self, request: Request) -> Response:
        entries = await anyio.to_thread.run_sync(self._backend.events, _after(request))
        return _json([to_json(each) for each in entries])

    async def _events(self, request: Request) -> Response:
        reader = await self._hub.join(_after(request))
        if reader is None:
            return refusal(429, "too many readers of events")

        async def leave() -> None:
            self._hub.leave(reader)

        return _Events(reader.chunks(), self._stall, leave)

    async def _console(self, action: RunCommand) -> Response:
        from testbed.web.consoles import MOST_AT_ONCE, Console, words_of  # noqa: PLC0415  # only on Linux

        words = words_of(action.command)
        if self._commands >= MOST_AT_ONCE:
            raise _BusyError(f"{MOST_AT_ONCE} commands are running: try again when one has ended")
        async with AsyncExitStack() as place:
            self._commands += 1
            place.callback(self._leave_console)
            host = await anyio.to_thread.run_sync(self._backend.act, action)
            console = await Console.start(words, host)
            place.push_async_callback(console.close)
            return _Events(console.chunks(), self._stall, place.pop_all().aclose)

    def _leave_console(self) -> None:
        self._commands -= 1

    async def _act(self, each: Endpoint, request: Request) -> Response:
        if self._view_only:
            return refusal(403, "the server only shows: it was started with --view")
        with ExitStack() as work:
            if each.largest > SMALL:
                work.enter_context(self._large_body())
            action = await self._action(each, request)
            described = await anyio.to_thread.run_sync(self._backend.describe)
            if KIND_OF[type(action)] not in described.actions:
                return refusal(409, f"the backend {described.backend} has no such action")
            if isinstance(action, RunCommand):
                return await self._console(action)
            work.enter_context(self._work())  # a body that comes slowly keeps no other from its work
            try:
                return await anyio.to_thread.run_sync(self._carry_out, _with_known_link(action, described))
            finally:
                self._hub.refresh()

    @contextmanager
    def _work(self) -> Iterator[None]:
        """Count a job for the time of a block; raises _BusyError if too many are under way."""
        self._require_room()
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1

    @contextmanager
    def _large_body(self) -> Iterator[None]:
        """Count a large body for the time of a block; raises _BusyError if there are too many, or too many jobs."""
        self._require_room()
        if self._large >= _LARGE_BODIES_AT_ONCE:
            raise _BusyError(f"{_LARGE_BODIES_AT_ONCE} plans or sets of demands are read: try again when one is done")
        self._large += 1
        try:
            yield
        finally:
            self._large -= 1

    def _require_room(self) -> None:
        if self._busy >= _WORKS_AT_ONCE:
            raise _BusyError(f"{_WORKS_AT_ONCE} actions and verifications are under way: try again when one is done")

    async def _action(self, each: Endpoint, request: Request) -> Action:
        """Return the action that a request asks for; raises BodyError."""
        body = None
        if each.body is not None:
            data = await _data(each, request)
            if each.body is dict:
                body = plan_body(data)
            else:
                try:
                    body = await anyio.to_thread.run_sync(from_json, each.body, data)
                except InputError as error:
                    raise BodyError(422, str(error)) from error
        assert each.action is not None, "a request that does not read acts"
        return each.action(request.path_params.get(each.named or "", ""), body)

    def _carry_out(self, action: Any) -> Response:  # noqa: ANN401  # one of the actions
        if isinstance(action, SetPlan) and (found := tuple(self._backend.verify(action.plan))):
            words = f"the plan breaks {len(found)} promise{'s' if len(found) > 1 else ''}: {found[0].text}"
            return _json(to_json(Refusal(words, found)), 409)
        before = self._backend.events(0)
        done = self._backend.act(action)
        return _json(to_json(Done(done, tuple(self._backend.events(before[-1].seq if before else 0)))))


def _with_known_link(action: Action, described: Description) -> Action:
    """Return the action; if it names a link by its ends the other way round, with the id that the link has."""
    if isinstance(action, SetLink):
        turned = "~".join(reversed(action.id.split("~")))
        if turned != action.id and turned in {link.id for link in described.links}:
            return SetLink(turned, action.up)
    return action


class _Events(Response):
    """A stream of events to one reader, who is dropped after reading nothing for a while.

    Args:
        chunks: the events.
        stall: seconds of that while.
        ended: called at the end, whoever has ended it.
    """

    def __init__(self, chunks: AsyncIterator[bytes], stall: float, ended: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._chunks, self._stall, self._ended = chunks, stall, ended

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async with anyio.create_task_group() as group:
                group.start_soon(_until_gone, receive, group.cancel_scope)
                await self._send_all(send)
                group.cancel_scope.cancel()
        finally:
            await self._ended()

    async def _send_all(self, send: Send) -> None:
        async for chunk in self._chunks:
            with anyio.move_on_after(self._stall) as limit:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if limit.cancelled_caught:
                return
        with anyio.move_on_after(self._stall):
            await send({"type": "http.response.body", "body": b""})


async def _data(each: Endpoint, request: Request) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Return the data of a request's body, read in a thread: others are answered while a large one is read."""
    return await anyio.to_thread.run_sync(parsed, await read_body(request, each.largest))


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _after(request: Request) -> int:
    text = request.query_params.get("after", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_MOST_AFTER))):
        raise BodyError(422, "after is no whole number, expected the number of a log entry")
    return int(text)


def refusal(status: int, error: str) -> Response:
    answer = _json({"error": error}, status)
    if status == http.HTTPStatus.TOO_MANY_REQUESTS:
        answer.headers["retry-after"] = str(_SECONDS_TO_RETRY)
    return answer


def _json(data: Any, status: int = 200) -> Response:  # noqa: ANN401  # JSON has no type
    return _json_bytes(json.dumps(data, separators=(",", ":")).encode(), status)


def _json_bytes(body: bytes, status: int = 200) -> Response:
    return Response(body, status, {"cache-control": "no-store"}, "application/json")


def _static(file: PageFile) -> _Handler:
    headers = {"etag": file.tag, "cache-control": "no-cache", "content-type": file.media_type}

    async def answer(request: Request) -> Response:
        if file.tag in request.headers.get("if-none-match", ""):
            return Response(None, 304, headers)
        return Response(file.body, 200, headers)

    return answer


def _document(data: Any) -> _Handler:  # noqa: ANN401  # JSON has no type
    return _static(PageFile.of(json.dumps(data, indent=1).encode(), "application/json"))


async def _no_such_page(_request: Request, _error: Exception) -> Response:
    return refusal(404, "there is no such page")


async def _no_such_method(_request: Request, _error: Exception) -> Response:
    return refusal(405, "this address does not accept this method")
