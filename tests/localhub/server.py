"""The local GitHub over HTTP: two servers on loopback, one for the API, one for what is stored elsewhere."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from localhub.description import Misfit, Operation, description
from localhub.operations import OPERATIONS, PERMISSIONS, Asked, Refused, Reply
from localhub.sockets import ApiHandler, Server, StorageHandler
from localhub.state import REPORTING, State, Token
from localhub.wire import PREFIX, Answer, Misbehaviour, Seen, in_json

__all__ = ["LocalGitHub"]

_LEVELS = ("read", "write")
_LARGEST_PAGE = 100


class LocalGitHub:
    """Both servers, running within `with`.

    Attributes:
        token: one that may report, as a workflow's own with the permissions it should have.
        state: what it holds; free to be changed at any time (under `state.lock` while requests come in).
        seen: every request to the API, in order.
        fetched: the paths of requests to the storage.
        faults: what did not fit. The fixture fails the test when there are any.
    """

    def __init__(self, state: State | None = None) -> None:
        self.state = state or State()
        self.seen: list[Seen] = []
        self.fetched: list[str] = []
        self.faults: list[str] = []
        self.token = self.state.token(Token("ghs_" + secrets.token_hex(8), permissions=dict(REPORTING))).text
        self._misbehaviours: list[Misbehaviour] = []
        self._stopping = threading.Event()
        self._signatures: dict[str, int] = {}
        self._lock = threading.Lock()
        self._servers = [Server(ApiHandler, self), Server(StorageHandler, self)]

    # ---------------- for tests

    @property
    def api_url(self) -> str:
        """What GITHUB_API_URL is on github.com."""
        return f"http://127.0.0.1:{self._servers[0].server_port}"

    @property
    def enterprise_url(self) -> str:
        """What GITHUB_API_URL looks like for an Enterprise server; the same state."""
        return self.api_url + PREFIX

    @property
    def storage_url(self) -> str:
        """Where artifacts are: another host by its name, and another port."""
        return f"http://localhost:{self._servers[1].server_port}"

    def environ(self, token: str | None = None) -> dict[str, str]:
        """What a step of a workflow has in its environment to find this GitHub."""
        return {
            "GITHUB_API_URL": self.api_url,
            "GITHUB_SERVER_URL": "https://github.test",
            "GITHUB_REPOSITORY": self.state.repository,
            "GITHUB_TOKEN": self.token if token is None else token,
        }

    def permit(self, **permissions: str) -> str:
        """A workflow token that may just this: permit(pull_requests="write", actions="read"). Its text."""
        allowed = {name.replace("_", "-"): level for name, level in permissions.items()}
        return self.state.token(Token("ghs_" + secrets.token_hex(8), permissions=allowed)).text

    def person(self, login: str) -> str:
        """A personal token. Its text."""
        return self.state.token(Token("ghp_" + secrets.token_hex(8), login, app="")).text

    def misbehave(self, method: str, path: str, *, nth: int = 1, times: int = 1, **how: Any) -> Misbehaviour:
        """Go wrong for the `nth` request, and `times` in all, of that method ("*": any) and with `path` in its path.

        How: `status`, `headers` and `body` (JSON, or bytes as they are) answer instead of doing anything; with
        `worked=True` after the work was done nevertheless. `drop=True`: the connection is lost before the work, or
        with `worked` after it. `delay`: seconds of silence before the work, or with `worked` after it. `first`:
        called with the state before anything else, as when somebody deletes a comment just now. Of several that were
        asked for, one strikes a time. Requests to the storage have paths that begin with /storage/.
        """
        made = Misbehaviour(method, path, nth - 1, times, **how)
        with self._lock:
            self._misbehaviours.append(made)
        return made

    def asked(self, method: str, path: str) -> list[Seen]:
        """The requests so far of that method whose path `path` is found in."""
        return [one for one in self.seen if one.method == method and re.search(path, one.path)]

    def __enter__(self) -> LocalGitHub:
        description()  # read once, and not while somebody waits for an answer
        for server in self._servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    # ---------------- for the handlers

    def fault(self, words: str) -> None:
        """Something did not fit."""
        with self._lock:
            self.faults.append(words)

    def struck(self, method: str, path: str) -> Misbehaviour:
        """How to misbehave for this request; the first one that strikes."""
        with self._lock:
            striking: list[Misbehaviour] = []
            for one in self._misbehaviours:
                if one.strikes(method, path, taken=bool(striking)):
                    striking.append(one)
        made = striking[0] if striking else Misbehaviour("", "", 0, 0)
        if made.first is not None:
            with self.state.lock:
                made.first(self.state)
        return made

    def hush(self, seconds: float) -> None:
        """Silence, but not when everything ends."""
        if seconds:
            self._stopping.wait(seconds)

    def signed(self, artifact: int) -> str:
        """An address in the storage that works without a token."""
        signature = secrets.token_hex(16)
        self._signatures[signature] = artifact
        return f"{self.storage_url}/storage/{artifact}?{urlencode({'sig': signature})}"

    def stored(self, path: str, query: Mapping[str, str]) -> bytes | None:
        """What is at a signed address; None where the signature is not right."""
        artifact = self._signatures.get(query.get("sig", ""))
        if artifact is None or path != f"/storage/{artifact}":
            return None
        with self.state.lock:
            return self.state.artifacts[artifact].content

    def answer(self, request: Seen) -> Answer:
        """The API's answer; 500 and a fault where the request or our own answer does not fit."""
        try:
            operation = description().operation(request.method, request.path)
            description().check_request(operation, request.query, request.body)
            return self._known(operation, request)
        except Misfit as misfit:
            self.fault(f"{request.method} {request.path}: {misfit}")
            return in_json(500, {"message": f"This does not fit the description: {misfit}"})

    def _known(self, operation: Operation, request: Seen) -> Answer:
        try:
            token = self._token(operation, request)
            with self.state.lock:
                asked = Asked(operation, request.query, request.body, token, self.signed)
                return self._told(operation, request, OPERATIONS[operation.id](self.state, asked))
        except Refused as refused:
            description().check_answer(operation, refused.status, refused.body)
            return in_json(refused.status, refused.body)

    def _token(self, operation: Operation, request: Seen) -> Token:
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        token = self.state.tokens.get(text) if scheme.lower() in ("bearer", "token") else None
        if token is None:
            raise Refused(401, "Bad credentials" if text else "Requires authentication")
        where = f"{operation.values.get('owner', '')}/{operation.values.get('repo', '')}".lower()
        if where not in ("/", self.state.repository.lower()):
            raise Refused(404, "Not Found")
        permission, level = PERMISSIONS[operation.id]
        has = "read" if permission == "metadata" else token.permissions.get(permission, "")
        if token.app and (has not in _LEVELS or _LEVELS.index(has) < _LEVELS.index(level)):
            raise Refused(403, "Resource not accessible by integration")
        return token

    def _told(self, operation: Operation, request: Seen, reply: Reply) -> Answer:
        known, headers = reply.known, dict(reply.headers)
        if reply.items is not None:
            known, links = self._page(request, reply)
            headers |= links
        body = description().filled(operation, reply.status, known)
        description().check_answer(operation, reply.status, body)
        return in_json(reply.status, body, headers)

    def _page(self, request: Seen, reply: Reply) -> tuple[Any, dict[str, str]]:
        assert reply.items is not None
        size = min(int(request.query.get("per_page", 30)), _LARGEST_PAGE)
        page = max(int(request.query.get("page", 1)), 1)
        pages = max(1, -(-len(reply.items) // size))
        items = reply.items[(page - 1) * size : page * size]
        near = {"prev": page - 1, "next": page + 1, "last": pages, "first": 1}
        wanted = ("next", "last") if page == 1 else ("prev", "first") if page >= pages else tuple(near)
        prefix = self.enterprise_url if request.headers.get("x-prefix") else self.api_url
        links = [
            f'<{prefix}{request.path}?{urlencode({**request.query, "page": near[name]})}>; rel="{name}"'
            for name in wanted
        ]
        known = {"total_count": len(reply.items), reply.wrap: items} if reply.wrap else items
        return known, {"Link": ", ".join(links)} if pages > 1 else {}
