#!/usr/bin/python3
"""Who is drafted for which partition of a task, as every sidecar computes it (docs/ELECTION.md).

    draft.py FILE       FILE: JSON {"name", "items": [...], "limit": L or 0, "workers": [{"id", "ip",
                        "tier", "random_ints": [5 ints], "may": [indexes], "resigned": [indexes]}]}

Prints a JSON array: the id of each item's worker, or null. Needs Debian's python3-xxhash.
"""
import argparse
import ipaddress
import json
import struct

import xxhash


def score(worker, name):
    key = xxhash.xxh64_intdigest(struct.pack("<5i", *worker["random_ints"]), seed=0)
    return xxhash.xxh64_intdigest(name.encode(), seed=key) >> 11


def place(worker, name):
    ip = ipaddress.ip_address(worker["ip"])
    return score(worker, name), ip.version, int(ip), worker["id"]


def draft(name, items, limit, workers):
    owner, held = {}, {w["id"]: 0 for w in workers}
    turns = sorted(workers, key=lambda w: place(w, name), reverse=True)
    for with_resigned in (False, True):
        for most in range(min(limit or len(items), len(items)), len(items) + 1):
            for tier in sorted({w["tier"] for w in workers}):
                taken = True
                while taken:
                    taken = False
                    for w in (w for w in turns if w["tier"] == tier and held[w["id"]] < most):
                        free = [k for k in w["may"] if k not in owner
                                and (with_resigned or k not in w["resigned"])]
                        if free:
                            best = max(free, key=lambda k: (score(w, items[k]), -k))
                            owner[best], taken = w["id"], True
                            held[w["id"]] += 1
    return [owner.get(k) for k in range(len(items))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Who is drafted for which partition of a task.")
    parser.add_argument("file", help="the fleet and the task, as JSON; see the head of this program")
    with open(parser.parse_args().file, encoding="utf-8") as file:
        print(json.dumps(draft(**json.load(file))))
