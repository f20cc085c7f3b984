"""128 bytes, whatever is asked: what is measured is Lantern's own work."""

BODY = b"x" * 128
HEADERS = [(b"content-type", b"text/plain"), (b"content-length", b"128")]


async def application(scope, _receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": BODY})
