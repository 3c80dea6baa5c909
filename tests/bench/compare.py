"""Two builds beside each other: the bench runs with one and with the other in turn, so that both see the same machine."""
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

ENOUGH = 0.95
# Rows that are left out: they measure the machine, or what others take for the same work.
LEFT_OUT = ("echo_", "spawn_true", "spawn_test", "spawn_flock", "spawn_socat", "spawn_curl", "spawn_etcdctl",
            "spawn_kazoo", "spawn_zkcli")


def is_better_if_bigger(row):
    return row["unit"] == "/s" or row["key"].startswith("trips_")


def measure(bench, build, folder, words):
    """The rows of one run, by key."""
    file = folder / "figures.json"
    subprocess.run([bench, "--build", build, "--runs", "1", "--json", file, *words], check=True, stdout=subprocess.DEVNULL,
                   env={k: v for k, v in os.environ.items() if k != "ZKLEADER_BUILD"})
    return {row["key"]: row for row in json.loads(file.read_text(encoding="utf-8"))["rows"]}


def ratio_of(row, now, before):
    """How many times as good it is now: 1 is alike, more is better. None: there is no such number."""
    if now == before:
        return 1.0
    if now <= 0 or before <= 0:
        return None
    return now / before if is_better_if_bigger(row) else before / now


def compare(bench, build, against, runs, words):
    """Prints each row that both have figures for, and returns them."""
    found = {build: [], against: []}
    with tempfile.TemporaryDirectory(prefix="zkleader-bench.", dir="/tmp") as name:
        for i in range(runs):
            for one in (build, against) if i % 2 == 0 else (against, build):
                found[one].append(measure(bench, one, pathlib.Path(name), words))
    print(f"{'':<56}{'now':>10}{'before':>10}      ratio (of pairs: least .. most)")
    rows = []
    for key, row in found[build][0].items():
        pairs = [(n[key]["median"], b[key]["median"]) for n, b in zip(found[build], found[against])
                 if n[key]["runs"] and b.get(key, {}).get("runs")]
        ratios = [ratio_of(row, *pair) for pair in pairs]
        now, before = (statistics.median(values) for values in zip(*pairs)) if pairs else (0, 0)
        ratio = ratio_of(row, now, before)
        if key.startswith(LEFT_OUT) or ratio is None or None in ratios:
            continue
        rows.append({"key": key, "what": row["what"].strip(), "unit": row["unit"], "now": now, "before": before,
                     "ratio": ratio, "min": min(ratios), "max": max(ratios), "enough": ratio >= ENOUGH})
        print(f"{row['what'] + (' [' + row['unit'] + ']' if row['unit'] else ''):<56}{now:>10.4g}{before:>10.4g}"
              f"{ratio:>11.2f} ({min(ratios):.2f} .. {max(ratios):.2f}){'' if ratio >= ENOUGH else '  less'}", flush=True)
    return rows
