"""The same 128 bytes for either kind of server: `wsgi` and `asgi`."""

CONTENT = b"x" * 128


def wsgi(environ, start_response):  # noqa: ARG001 - as WSGI has it
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(CONTENT)))])
    return [CONTENT]


_HEADERS = [(b"content-type", b"text/plain"), (b"content-length", str(len(CONTENT)).encode())]


async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        await _live(receive, send)
    else:
        await receive()  # the request's end: hypercorn drops the connection of an application that never asks for it
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": CONTENT})


async def _live(receive, send):
    """Nothing to set up, but a server that asks gets its answer."""
    message = {"type": ""}
    while message["type"] != "lifespan.shutdown":
        message = await receive()
        await send({"type": message["type"] + ".complete"})
