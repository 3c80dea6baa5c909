#!/usr/bin/python3
"""A job whose database refuses a job with an older token, wherever that has been held up.

    zkleader run monthly-invoices -- fenced.py /var/lib/app/invoices.db

`zkleader run` ends a job before another node can lead. What no lock can end is a write that is on its way
already: from a machine that was suspended, or over a network that held it back. The token settles that: it
grows with each change of leadership, the database keeps the greatest that it has seen of each task, and a
trigger of it aborts the transaction of a smaller one. The same in PostgreSQL: see docs/TICKS.md.

Needs Python and nothing else. Exit code: 0 done, 75 refused as an older leader's, 1 anything else, 2 misuse.
"""
import argparse
import contextlib
import os
import sqlite3
import sys

SCHEMA = """
CREATE TABLE IF NOT EXISTS fence (task TEXT PRIMARY KEY, token INTEGER NOT NULL);
CREATE TRIGGER IF NOT EXISTS fence_holds BEFORE UPDATE ON fence WHEN new.token < old.token
BEGIN
    SELECT RAISE(ABORT, 'an older leader');
END;
CREATE TABLE IF NOT EXISTS invoices (month TEXT, token INTEGER, attempt INTEGER);
"""
# First in each transaction: from here on nobody with a smaller token gets through.
FENCE = """
INSERT INTO fence (task, token) VALUES (:task, :token)
ON CONFLICT (task) DO UPDATE SET token = excluded.token
"""


def main():
    parser = argparse.ArgumentParser(description="Write the invoices of a tick, unless a newer leader has begun to.",
                                     epilog="To be started by: zkleader run TASK -- fenced.py DATABASE")
    parser.add_argument("database", help="an SQLite file; made if it is not there")
    path = parser.parse_args().database
    try:
        names = {"task": os.environ["ZKLEADER_TASK"], "token": int(os.environ["ZKLEADER_TOKEN"]),
                 "tick": os.environ["ZKLEADER_TICK"], "attempt": int(os.environ["ZKLEADER_ATTEMPT"])}
    except KeyError as missing:
        parser.error(f"{missing.args[0]} is not set: start it by zkleader run TASK -- fenced.py DATABASE")
    with contextlib.closing(sqlite3.connect(path, timeout=30, isolation_level=None)) as db:
        db.executescript(SCHEMA)
        try:
            db.execute("BEGIN IMMEDIATE")
            db.execute(FENCE, names)
            # The work itself. A second attempt replaces what the first had done.
            db.execute("DELETE FROM invoices WHERE month = :tick", names)
            db.execute("INSERT INTO invoices VALUES (:tick, :token, :attempt)", names)
            db.execute("COMMIT")
        except sqlite3.IntegrityError as refused:
            print(f"refused: {refused}", file=sys.stderr)
            return 75
    return 0


if __name__ == "__main__":
    sys.exit(main())
