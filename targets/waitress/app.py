CONTENT = b"x" * 128


def app(environ, start_response):  # noqa: ARG001 - as WSGI has it
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(CONTENT)))])
    return [CONTENT]
