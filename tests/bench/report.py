"""Rows of figures: medians with their spread, beside what is to be reached; as text and as JSON."""
import json
import operator
import os
import pathlib
import platform
import statistics
import subprocess

OPERATORS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, "=": operator.eq}


class Report:
    def __init__(self):
        self.rows = []
        self.notes = {}

    def title(self, text):
        print(f"\n{text}\n", flush=True)

    def row(self, key, what, values, unit="", goal=None, note=""):
        """goal: (comparison, number). Without values the row says so: it could not be measured here."""
        values = sorted(v for v in values if v is not None)
        entry = {"key": key, "what": what, "unit": unit, "note": note, "runs": len(values)}
        if values:
            entry.update(median=statistics.median(values), min=values[0], max=values[-1])
        if goal:
            entry["goal"] = f"{goal[0]} {goal[1]:g}"
            if values:
                entry["met"] = OPERATORS[goal[0]](round(entry["median"], 6), goal[1])
        self.rows.append(entry)
        print(self._line(entry), flush=True)
        return entry.get("median")

    @staticmethod
    def _line(e):
        if not e["runs"]:
            return f"{e['what']:<56} not measured  {e['note']}"
        spread = f"({e['min']:.4g} .. {e['max']:.4g})"
        goal = ""
        if "goal" in e:
            goal = f"to reach {e['goal']}: {'met' if e['met'] else 'NOT met'}"
        return f"{e['what']:<56} {e['median']:>9.4g} {e['unit']:<5} {spread:<22} {goal} {e['note']}".rstrip()

    def write(self, path):
        data = {"machine": machine(), **self.notes, "rows": self.rows}
        pathlib.Path(path).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def _first_line(*command):
    try:
        out = subprocess.run(command, capture_output=True, text=True, check=False)
        return (out.stdout or out.stderr).splitlines()[0]
    except (OSError, IndexError):
        return ""


def machine():
    """The properties of the machine that the figures depend on; not its name."""
    cpu = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
           if line.startswith("model name")]
    memory = int(pathlib.Path("/proc/meminfo").read_text().split()[1])
    packages = ("zookeeper", "libzookeeper-mt2", "libuv1", "musl", "libcurator-recipes-java", "python3-kazoo")
    return {
        "processors": len(os.sched_getaffinity(0)), "processor": cpu[0] if cpu else platform.machine(),
        "memory_gib": round(memory / 2**20, 1), "kernel": platform.release(),
        "java": _first_line("java", "-version"),
        "packages": {p: _first_line("dpkg-query", "-W", "-f", "${Version}", p) for p in packages},
        "load": [round(x, 2) for x in os.getloadavg()],
    }


def print_machine():
    m = machine()
    print(f"{m['processors']} processors ({m['processor']}), {m['memory_gib']} GiB, Linux {m['kernel']}, "
          f"ZooKeeper {m['packages']['zookeeper']}; load {m['load'][0]} before")
