"""Clocks of one sidecar that a test suspends, slows, or sets: clocks.c preloaded, and libfaketime."""
import pathlib
import struct
import subprocess
import time

import pytest

SOURCE = pathlib.Path(__file__).with_name("clocks.c")


class Clocks:
    """env is for the sidecar's start."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        library = folder / "clocks.so"
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, SOURCE], check=True, timeout=60)
        self.file = folder / "clocks"
        self.monotonic_behind_s = self.boot_behind_s = self.boot_from_s = 0.0
        self.boot_rate = 1.0
        self.file.write_bytes(b"\0" * 32)
        self._write()
        self.env = {"LD_PRELOAD": str(library), "CLOCKS_FILE": str(self.file)}

    def _write(self):
        with open(self.file, "r+b") as f:  # in place: it is mapped
            f.write(struct.pack("=4q", int(self.monotonic_behind_s * 1e9), int(self.boot_behind_s * 1e9),
                                int(self.boot_from_s * 1e9), int(self.boot_rate * 1e6)))

    def was_suspended(self, seconds, boot_too=False):
        """While it was stopped: for so long its clocks stood still, but CLOCK_BOOTTIME. boot_too: that as
        well, which no machine does that is awake again."""
        self.monotonic_behind_s += seconds
        self.boot_behind_s += seconds if boot_too else 0
        self._write()

    def run_at(self, rate):
        """CLOCK_BOOTTIME runs at that rate from now on."""
        self.boot_from_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._write()  # before the rate: it is read at any time
        self.boot_rate = rate
        self._write()


def faketime(how):
    """The environment in which the wall clock alone is faked."""
    found = sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        pytest.skip("libfaketime is not installed")
    return {"LD_PRELOAD": str(found[0]), "FAKETIME": how, "DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
