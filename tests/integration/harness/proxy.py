"""A TCP proxy between one sidecar and its server, which can cut connections or let nothing through."""
import selectors
import socket
import threading

CHUNK = 65536


class Proxy:
    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.stalled = False
        self.refusing = False
        self.ended = False
        self.pairs = {}
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def stall(self):
        """From now on not a byte gets through, and nobody is told."""
        self.stalled = True

    def flow(self):
        self.stalled = self.refusing = False

    def cut(self):
        """Closes all connections and every new one."""
        self.refusing = True
        self.drop()

    def drop(self):
        with self.lock:
            for sock in list(self.pairs):
                self._close(sock)

    def close(self):
        self.ended = True
        self.thread.join(10)
        self.drop()
        self.listener.close()

    def _close(self, sock):
        other = self.pairs.pop(sock, None)
        if other:
            self.pairs.pop(other, None)
            other.close()
        sock.close()

    def _accept(self):
        client, _ = self.listener.accept()
        if self.refusing:
            client.close()
            return
        try:
            server = socket.create_connection(self.target, timeout=5)
        except OSError:
            client.close()
            return
        self.pairs[client], self.pairs[server] = server, client

    def _forward(self, sock):
        try:
            data = sock.recv(CHUNK)
            if data:
                self.pairs[sock].sendall(data)
                return
        except (OSError, KeyError):
            pass
        self._close(sock)

    def _run(self):
        while not self.ended:
            with selectors.DefaultSelector() as selector:
                selector.register(self.listener, selectors.EVENT_READ)
                with self.lock:
                    for sock in self.pairs if not self.stalled else ():
                        selector.register(sock, selectors.EVENT_READ)
                ready = selector.select(0.05)
            with self.lock:
                for key, _ in ready:
                    if key.fileobj is self.listener:
                        self._accept()
                    elif key.fileobj in self.pairs and not self.stalled:
                        self._forward(key.fileobj)
