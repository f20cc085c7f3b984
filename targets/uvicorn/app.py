CONTENT = b"x" * 128
HEADERS = [(b"content-type", b"text/plain"), (b"content-length", str(len(CONTENT)).encode())]


async def app(scope, receive, send):  # noqa: ARG001 - as ASGI has it
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": CONTENT})
