"""A small HTTP/1 server that misbehaves on request, so that load generators have something to complain about.

    python3 server.py PORT MODE

ok       200, 128 bytes                        errors   every tenth answer is a 500 of 64 bytes
missing  every tenth is a 404 of 64 bytes      failing  every answer is a 500 of 128 bytes
redirect 302, 64 bytes                         chunked  128 bytes in two chunks
lengths  128 and 129 bytes in turn             stray    every tenth body has 8 bytes more, and says so
short    every tenth ends after 50 of 128      reset    every tenth request is answered by a reset
mute     every tenth: closed unanswered        garbage  what it sends is no HTTP
bare     no length: the end of the connection ends the body
closes   ends each connection and says so      some     the same after every tenth answer
quits    ends each connection, says it won't   dies     exits within the 60th answer
silent   reads, never answers                  stall    answers until the 60th request
late     every hundredth answer comes after 1.2 s
"""

import asyncio
import os
import socket
import struct
import sys

FATAL = 60


def answer(status, length, persistent, sent=None):
    """Head and body; `length` None leaves the length out, `sent` is how much of the body really comes."""
    head = [f"HTTP/1.1 {status}", "Server: tiny/1.0", "Content-Type: text/plain"]
    head += [] if length is None else [f"Content-Length: {length}"]
    head += [f"Connection: {'keep-alive' if persistent else 'close'}", "", ""]
    return "\r\n".join(head).encode() + b"x" * ((128 if length is None else length) if sent is None else sent)


def chunked(persistent):
    """Two chunks of 64 bytes."""
    head = answer("200 OK", None, persistent, 0).replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    return head + (b"40\r\n" + b"x" * 64 + b"\r\n") * 2 + b"0\r\n\r\n"


class Server:
    """Counts requests over all connections."""

    def __init__(self, mode):
        self.mode = mode
        self.count = 0

    async def serve(self, reader, writer):
        """One connection."""
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while await self.one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def one(self, reader, writer):
        """One request; whether the connection stays."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        for line in head.split("\r\n"):
            if line.startswith("content-length:"):
                await reader.readexactly(int(line.split(":")[1]))
        modern = head.split("\r\n")[0].endswith("http/1.1")
        keep = "connection: close" not in head if modern else "connection: keep-alive" in head
        self.count += 1
        await self.hesitate(writer)
        said, stays = self.reply(keep, self.count % 10 == 0)
        if self.mode == "reset" and not said:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.write(said)
        await writer.drain()
        return stays

    async def hesitate(self, writer):
        """What happens before an answer, or instead of one."""
        if self.mode == "silent" or (self.mode == "stall" and self.count >= FATAL):
            await asyncio.sleep(3600)
        if self.mode == "late" and self.count % 100 == 0:
            await asyncio.sleep(1.2)
        if self.mode == "dies" and self.count == FATAL:
            writer.write(answer("200 OK", 128, True, 50))
            await writer.drain()
            os._exit(1)

    def reply(self, keep, tenth):
        """What to send, and whether the connection stays."""
        ok = answer("200 OK", 128, keep)
        always = {
            "failing": (answer("500 Internal Server Error", 128, keep), keep),
            "redirect": (answer("302 Found", 64, keep), keep),
            "chunked": (chunked(keep), keep),
            "lengths": (answer("200 OK", 128 + self.count % 2, keep), keep),
            "garbage": (b"hello, this is no answer\n", False),
            "bare": (answer("200 OK", None, False), False),
            "closes": (answer("200 OK", 128, False), False),
            "quits": (answer("200 OK", 128, True), False),
        }
        sometimes = {
            "errors": (answer("500 Internal Server Error", 64, keep), keep),
            "missing": (answer("404 Not Found", 64, keep), keep),
            "stray": (answer("200 OK", 136, keep), keep),
            "short": (answer("200 OK", 128, keep, 50), False),
            "reset": (b"", False),
            "mute": (b"", False),
            "some": (answer("200 OK", 128, False), False),
        }
        return always.get(self.mode) or (sometimes.get(self.mode) if tenth else None) or (ok, keep)


async def main():
    """Serve for ever."""
    server = await asyncio.start_server(Server(sys.argv[2]).serve, "127.0.0.1", int(sys.argv[1]), backlog=1024)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
