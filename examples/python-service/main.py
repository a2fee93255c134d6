"""A service with the HTTP transport of the call protocol (docs/protocol.md, section 3).

Requires Python 3.9 or newer, and no packages:

    python3 main.py [port]

Each call is a request `POST /` with the names of the service and the endpoint in its headers. The result of a function
is sent as JSON, the result of a generator as a stream with one JSON document per line.
"""

import json
import signal
import sys
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import GeneratorType

SERVICE = "helloworld"
MAX_REQUEST_BYTES = 16 * 1024 * 1024
END = object()


class CallError(Exception):
    """An error for the caller; other exceptions become a 500 without details."""

    def __init__(self, code, detail):
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Context:
    """Metadata and deadline of a call."""

    def __init__(self, fields):
        self.fields = fields
        timeout = fields.get("Mx-Timeout", "")
        self.expires = time.monotonic() + int(timeout) / 1000 if timeout.isdecimal() else None

    def check(self):
        """Raises an error after the deadline. Call it regularly in long operations."""
        if self.expires is not None and time.monotonic() >= self.expires:
            raise CallError(408, "the deadline of the call has expired")


def call(request, _context):
    """Greets: {"name": "John"}"""
    return {"message": f"Hello {read_name(request)}"}


def stream(request, context):
    """Streams greetings: {"name": "John", "count": 3, "pause": 0.1}, with a pause in seconds before each."""
    name = read_name(request)
    count = request.get("count", 3)
    pause = request.get("pause", 0)
    if type(count) is not int or not 0 <= count <= 1_000_000:
        raise CallError(400, "count must be an integer from 0 to 1000000")
    if type(pause) not in (int, float) or not 0 <= pause <= 60:
        raise CallError(400, "pause must be a number from 0 to 60")
    for number in range(1, count + 1):
        time.sleep(pause)
        context.check()
        yield {"message": f"Hello {name}, {number} of {count}"}


ENDPOINTS = {"Helloworld.Call": call, "Helloworld.Stream": stream}


def read_name(request):
    name = request.get("name")
    if not isinstance(name, str):
        raise CallError(400, "name must be a string")
    return name


def to_json(value):
    # Without line feeds, because they separate the documents of a stream.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def to_error(error):
    if not isinstance(error, CallError):
        print(f"call failed: {error!r}", file=sys.stderr)
        error = CallError(500, "internal error")
    status = HTTPStatus(error.code).phrase
    return {"Id": SERVICE, "Code": error.code, "Detail": error.detail, "Status": status}


class Handler(BaseHTTPRequestHandler):
    # Keep-alive connections, and no delay between the head and the body of a response (Nagle's algorithm).
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120

    def handle(self):
        try:
            super().handle()
        except OSError:
            # The caller disconnected, which cancels the call.
            pass

    def do_POST(self):
        try:
            answer = self.dispatch()
            # An error before the first message of a stream is sent like an error of a unary call.
            first = next(answer, END) if isinstance(answer, GeneratorType) else to_json(answer)
        except Exception as error:
            failure = to_error(error)
            self.send_reply(failure["Code"], to_json(failure))
            return
        if isinstance(answer, GeneratorType):
            self.send_stream(first, answer)
        else:
            self.send_reply(200, first)

    def dispatch(self):
        request = self.read_request()
        # Web pages can reach this port through a user's browser.
        if "Origin" in self.headers:
            raise CallError(403, "calls from web pages are not allowed")
        service = self.headers.get("Mx-Service", "")
        endpoint = self.headers.get("Mx-Endpoint", "")
        # The prefix of the name is the caller's namespace.
        if service != SERVICE and not service.endswith("." + SERVICE):
            raise CallError(404, f"service not found: {service}")
        if endpoint not in ENDPOINTS:
            raise CallError(404, f"endpoint not found: {service}.{endpoint}")
        return ENDPOINTS[endpoint](request, Context(self.headers))

    def read_request(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_REQUEST_BYTES:
            # The body was not read, so the connection cannot be reused.
            self.close_connection = True
            raise CallError(413 if length else 411, f"Content-Length must be at most {MAX_REQUEST_BYTES}")
        body = self.rfile.read(int(length))
        try:
            request = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            raise CallError(400, "request must be JSON") from None
        if not isinstance(request, dict):
            raise CallError(400, "request must be an object")
        return request

    def send_reply(self, code, body):
        self.send_response_only(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_stream(self, answer, answers):
        self.send_response_only(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while answer is not END:
            self.send_line(answer)
            try:
                answer = next(answers, END)
            except Exception as error:
                self.send_line({"error": to_error(error)})
                break
        self.wfile.write(b"0\r\n\r\n")

    def send_line(self, value):
        line = to_json(value) + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def log_message(self, *_arguments):
        """Disables the access log."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main():
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9003
    server = Server(("127.0.0.1", port), Handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"{SERVICE} listens on 127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
