"""A client of the control socket: MessagePack-RPC with Debian's python3-msgpack."""
import socket
import time

import msgpack


class RpcError(Exception):
    """The sidecar answered with an error; code is the exit code that goes with it."""

    def __init__(self, error):
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.code = error["code"]
        self.message = error["message"]


class Client:
    def __init__(self, path, timeout=60.0):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.timeout = timeout
        try:
            self.sock.connect(str(path))
        except OSError:
            self.sock.close()
            raise
        self.unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)
        self.last_id = 0
        self.answers = {}
        self.notifications = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def send_bytes(self, data):
        self.sock.sendall(data)

    def send(self, method, *params):
        """Sends a request and returns its msgid without waiting."""
        self.last_id += 1
        self.send_bytes(msgpack.packb([0, self.last_id, method, list(params)]))
        return self.last_id

    def read(self, timeout=None):
        """The next message; EOFError once the sidecar has closed the connection."""
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        while True:
            for message in self.unpacker:
                return message
            self.sock.settimeout(max(end - time.monotonic(), 0.001))
            data = self.sock.recv(65536)
            if not data:
                raise EOFError("closed by the sidecar")
            self.unpacker.feed(data)

    def pump(self, timeout=None):
        message = self.read(timeout)
        if message[0] == 2:
            self.notifications.append((message[1], message[2][0]))
        else:
            assert message[0] == 1, message
            self.answers[message[1]] = message
        return message

    def result(self, msgid, timeout=None):
        end = time.monotonic() + (self.timeout if timeout is None else timeout)
        while msgid not in self.answers:
            self.pump(max(end - time.monotonic(), 0.001))
        _, _, error, result = self.answers.pop(msgid)
        if error is not None:
            raise RpcError(error)
        return result

    def call(self, method, *params, timeout=None):
        return self.result(self.send(method, *params), timeout)

    def is_closed(self, timeout=None):
        """Reads on until the sidecar closes the connection."""
        try:
            while True:
                self.read(timeout)
        except (EOFError, ConnectionResetError):
            return True
        except socket.timeout:
            return False
