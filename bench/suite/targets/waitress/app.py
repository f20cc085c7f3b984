"""128 bytes from waitress."""

import plant
import waitress

BODY = b"x" * 128


def app(environ, start_response):  # noqa: ARG001
    plant.grow()
    start_response("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(BODY)))])
    return [BODY]


waitress.serve(app, host="0.0.0.0", port=8080, threads=4, connection_limit=200)  # noqa: S104 - a container, whose loopback nobody else has
