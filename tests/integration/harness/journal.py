"""A journald that a test reads."""
import os
import socket

from harness.names import need_mounts


class Journal:
    """A journald's socket, and a namespace in which it is the system's."""

    def __init__(self, folder):
        need_mounts()
        self.folder = folder / "journal"
        self.folder.mkdir()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.folder / "socket"))
        self.socket.setblocking(False)
        self.entries = []

    def command(self):
        """The words before a program's. The rest of /run is not there."""
        script = f"mount -t tmpfs none /run && mkdir /run/systemd && ln -s '{self.folder}' /run/systemd/journal && "
        return ["unshare", "--mount", "sh", "-c", script + 'exec "$@"', "sh"]

    def read(self):
        """All entries so far, each a dict."""
        while True:
            try:
                self.entries.append(self.parse(self.socket.recv(65536)))
            except BlockingIOError:
                return self.entries

    def of(self, event):
        return [e for e in self.read() if e["ZKLEADER_EVENT"] == event]

    @staticmethod
    def parse(data):
        entry = {}
        while data:
            name, data = data.split(b"\n", 1)
            if b"=" in name:
                name, value = name.split(b"=", 1)
            else:
                size = int.from_bytes(data[:8], "little")
                value, data = data[8:8 + size], data[8 + size + 1:]
            entry.setdefault(name.decode(), []).append(value.decode())
        return {name: values[0] if len(values) == 1 else values for name, values in entry.items()}  # as journalctl has it

    def close(self):
        self.socket.close()

    @staticmethod
    def told(log_file):
        """The environment of a program whose standard error, that file, is the journal's stream, as it is told."""
        log_file.touch()
        about = os.stat(log_file)
        return {"JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino}"}
