"""A TCP proxy between one sidecar and its server, which can cut connections, let nothing through, delay
all, or lose one chosen request or its reply. With the switch for TLS it speaks that to either of them."""
import selectors
import socket
import struct
import threading
import time

from harness import tls

CHUNK = 65536
FRAME_MAX = 1 << 26  # a longer "length" is none: not ZooKeeper's protocol, passed on as it comes
CREATE, DELETE, GET, CHECK, MULTI = 1, 2, 4, 13, 14


def op_in(kind, payload):
    """Whether a multi holds an operation of that kind, by its header."""
    return struct.pack(">ibi", kind, 0, -1) in payload


def is_claim(kind, payload):
    return kind == MULTI and op_in(CREATE, payload) and b"/leaders/" in payload


def is_release(kind, payload):
    return kind == MULTI and op_in(DELETE, payload) and b"/leaders/" in payload


def is_confirmation(kind, payload):
    return kind == MULTI and op_in(CHECK, payload) and b"/leaders/" not in payload \
        and not op_in(CREATE, payload) and not op_in(DELETE, payload)


def is_read(kind, payload):
    return kind == GET and b"/leaders/" in payload


class Count:
    """How many requests have matched."""

    def __init__(self, matches, then):
        self.matches, self.then = matches, then
        self.n = 0


class Rule:
    """A fault that happens once, to the first request that matches."""

    def __init__(self, matches, drop, then):
        self.matches, self.drop, self.then = matches, drop, then
        self.xid = self.link = None
        self.applied = threading.Event()


class Link:
    """A connection through the proxy: what has come from either side and is no whole frame yet."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.unframed = {client: b"", server: b""}
        self.greeted = {client: False, server: False}
        self.held = []  # (when it is to be sent, to whom, frame), in order for either side

    def other(self, sock):
        return self.server if sock is self.client else self.client

    def frames(self, sock, data):
        """The whole frames, as they are on the wire."""
        data = self.unframed[sock] + data
        at = 0
        while len(data) - at >= 4:
            length = struct.unpack_from(">I", data, at)[0]
            if length > FRAME_MAX:
                yield data[at:]
                at = len(data)
            elif len(data) - at < 4 + length:
                break
            else:
                yield data[at:at + 4 + length]
                at += 4 + length
        self.unframed[sock] = data[at:]


class Proxy:
    def __init__(self, port, host="127.0.0.1", listen=("127.0.0.1", 0)):
        self.target = (host, port)
        self.listener = socket.create_server(listen)
        self.port = self.listener.getsockname()[1]
        self.stalled_up = self.stalled_down = False
        self.delay_up_s = self.delay_down_s = 0.0
        self.refusing = self.hanging_up = False
        self.swallowed = None
        self.ended = False
        self.links = {}
        self.rules = []
        self.counts = []
        self.lock = threading.RLock()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def stall(self, up=True, down=True):
        """From now on not a byte gets through to the server (up), from it (down), and nobody is told.
        What is on its way waits, and gets through later; so do new connections, as those need both ways."""
        with self.lock:
            self.stalled_up, self.stalled_down = up, down

    def delay(self, up=0.0, down=0.0):
        """From now on all that is sent arrives so many seconds later, in order."""
        with self.lock:
            self.delay_up_s, self.delay_down_s = up, down

    def flow(self):
        with self.lock:
            self.stalled_up = self.stalled_down = self.refusing = self.hanging_up = False
            self.swallowed = None
            self.delay_up_s = self.delay_down_s = 0.0

    def cut(self):
        """Closes all connections and every new one."""
        self.refusing = True
        self.drop()

    def hang_up(self):
        """Closes each connection as soon as the server has taken its session, from now on, and those that there are."""
        with self.lock:
            self.hanging_up = True
        self.drop()

    def swallow(self, matches):
        """From now on requests for which matches(kind, payload) never arrive; None: all arrive again."""
        with self.lock:
            self.swallowed = matches

    def drop(self):
        with self.lock:
            for sock in list(self.links):
                self._close(sock)

    def lose(self, matches, drop=False, then=""):
        """Loses the next request for which matches(kind, payload), before the server (drop) or only
        its reply, and then goes on, or "close"s the connection, or "stall"s all. Returns the rule:
        .applied is set once it has happened."""
        rule = Rule(matches, drop, then)
        with self.lock:
            self.rules.append(rule)
        return rule

    def count(self, matches, then=""):
        """Counts the requests for which matches(kind, payload), from now on. With the first of them it may
        "stall" what comes from the server."""
        count = Count(matches, then)
        with self.lock:
            self.counts.append(count)
        return count

    def close(self):
        self.ended = True
        self.thread.join(10)
        self.drop()
        self.listener.close()

    def _close(self, sock):
        link = self.links.get(sock)
        if link:
            for end in (link.client, link.server):
                self.links.pop(end, None)
                end.close()

    def _accept(self):
        client, _ = self.listener.accept()
        if self.refusing:
            client.close()
            return
        try:
            server = socket.create_connection(self.target, timeout=5)
            client, server = tls.to_client(client), tls.to_server(server)
        except OSError:
            client.close()
            return
        for sock in (client, server):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.links[client] = self.links[server] = Link(client, server)

    def _apply(self, rule):
        """Returns True: the frame is lost."""
        self.rules.remove(rule)
        if rule.then == "close":
            self._close(rule.link.client)
        elif rule.then == "stall":
            self.stall()
        rule.applied.set()
        return True

    def _is_lost(self, link, sock, frame):
        if not link.greeted[sock]:  # the first frame of either side opens the session
            link.greeted[sock] = True
            return False
        if len(frame) < 12:
            return False
        xid, kind = struct.unpack_from(">ii", frame, 4)
        if sock is link.client and self.swallowed and self.swallowed(kind, frame[12:]):
            return True
        for count in self.counts:
            if sock is link.client and count.matches(kind, frame[12:]):
                count.n += 1
                if count.n == 1 and count.then == "stall":
                    self.stall(up=False)
        for rule in list(self.rules):
            if sock is link.client and rule.xid is None and rule.matches(kind, frame[12:]):
                rule.xid, rule.link = xid, link
                if rule.drop:
                    return self._apply(rule)
            elif sock is link.server and rule.link is link and rule.xid == xid:
                return self._apply(rule)
        return False

    def _pass_on(self, link, sock, frame):
        to, delay = link.other(sock), self.delay_up_s if sock is link.client else self.delay_down_s
        ahead = [due for due, whom, _ in link.held if whom is to]
        if delay or ahead:
            link.held.append((max([time.monotonic() + delay, *ahead]), to, frame))
        else:
            to.sendall(frame)

    def _send_held(self):
        """Sends what has been delayed for long enough; returns whether anything is left."""
        for link in set(self.links.values()):
            due = [h for h in link.held if h[0] <= time.monotonic()]
            link.held = [h for h in link.held if h not in due]
            try:
                for _, to, frame in due:
                    to.sendall(frame)
            except OSError:
                self._close(link.client)
        return any(link.held for link in self.links.values())

    def _forward(self, sock):
        link = self.links[sock]
        try:
            data = sock.recv(CHUNK)
            if data:
                for frame in link.frames(sock, data):
                    greets = sock is link.server and not link.greeted[sock]
                    if not self._is_lost(link, sock, frame) and sock in self.links:
                        self._pass_on(link, sock, frame)
                    if greets and self.hanging_up:
                        self._close(sock)
                        return
                return
        except OSError:
            pass
        self._close(sock)

    def _is_stalled(self, sock):
        return self.stalled_up if self.links[sock].client is sock else self.stalled_down

    def _run(self):
        while not self.ended:
            with selectors.DefaultSelector() as selector:
                with self.lock:
                    held = self._send_held()
                    if not (self.stalled_up or self.stalled_down):
                        selector.register(self.listener, selectors.EVENT_READ)
                    for sock in self.links:
                        if not self._is_stalled(sock):
                            selector.register(sock, selectors.EVENT_READ)
                ready = selector.select(0.002 if held else 0.05)
            with self.lock:
                for key, _ in ready:
                    if key.fileobj is self.listener:
                        self._accept()
                    elif key.fileobj in self.links and not self._is_stalled(key.fileobj):
                        self._forward(key.fileobj)
