"""A small HTTP/2 server without TLS that misbehaves on request.

    python3 h2server.py PORT MODE

h2reset   resets every tenth stream            h2goaway  says goodbye and leaves at the 50th request
"""

import asyncio
import sys

import h2.config
import h2.connection
import h2.events


class Server:
    """Counts requests over all connections."""

    def __init__(self, mode):
        self.mode = mode
        self.count = 0

    async def serve(self, reader, writer):
        """One connection."""
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        leaving = False
        while not leaving and (data := await reader.read(65536)):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    self.count += 1
                    self.answer(connection, event.stream_id)
                    leaving = self.mode == "h2goaway" and self.count >= 50
            if leaving:
                connection.close_connection()
            writer.write(connection.data_to_send())
        writer.close()

    def answer(self, connection, stream):
        """200 with 128 bytes, or a reset."""
        if self.mode == "h2reset" and self.count % 10 == 0:
            connection.reset_stream(stream, error_code=2)
            return
        connection.send_headers(stream, [(":status", "200"), ("server", "tiny/1.0"), ("content-length", "128")])
        connection.send_data(stream, b"x" * 128, end_stream=True)


async def main():
    """Serve for ever."""
    server = await asyncio.start_server(Server(sys.argv[2]).serve, "127.0.0.1", int(sys.argv[1]))
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
