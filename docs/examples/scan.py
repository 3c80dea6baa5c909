#!/usr/bin/python3
"""A job store in PostgreSQL that all servers work on, each on its partitions.

    CREATE TABLE jobs (id bigint PRIMARY KEY, bucket int NOT NULL, due timestamptz NOT NULL DEFAULT now(),
                       token bigint NOT NULL DEFAULT 0, done int NOT NULL DEFAULT 0);

In a crontab or a timer of all servers, for a task with `partitions = 8`:

    zkleader run scan -- scan.py --database "host=db dbname=jobs" --post http://results.internal/

It is started once for each partition that this server leads. A job has a random bucket, and belongs to partition
`bucket % 8` of 8, or to `bucket % 16` of 16. What is due there is marked with the fencing token, which grows with
each new leader. Each result is posted, and then the job is done by one statement, which compares the token: what a
server that was held up writes after another has taken the partition over changes nothing, whatever the number of
partitions was then. A result may be posted more than once, so that its receiver goes by the job's id.

Needs python3-psycopg2. Exit code: 0 done, 75 refused as an older leader's, 1 anything else, 2 misuse.
"""
import argparse
import json
import os
import sys
import urllib.request

# A smaller token is refused from here on. A write of his that is under way is waited for.
MARK = """
UPDATE jobs SET token = %(token)s
WHERE bucket %% %(partitions)s = %(partition)s AND done = 0 AND due <= now() AND token <= %(token)s
RETURNING id
"""
DONE = "UPDATE jobs SET done = done + 1 WHERE id = %(id)s"
FENCE = " AND token = %(token)s"


def post(url, job, names):
    """Raises where the receiver does not take it; then the job stays due."""
    body = json.dumps({"job": job, **names}).encode()
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        answer.read()


def main():
    parser = argparse.ArgumentParser(description="Does the due jobs of one partition.",
                                     epilog="To be started by: zkleader run TASK -- scan.py …")
    parser.add_argument("--database", required=True, help="as libpq has it: host=… dbname=…")
    parser.add_argument("--post", required=True, metavar="URL", help="where results go")
    parser.add_argument("--no-fence", action="store_true", help="to see what goes wrong without the token")
    args = parser.parse_args()
    try:
        names = {"token": int(os.environ["ZKLEADER_TOKEN"]), "partition": int(os.environ["ZKLEADER_PARTITION"]),
                 "partitions": int(os.environ["ZKLEADER_PARTITIONS"])}
    except KeyError as missing:
        parser.error(f"{missing.args[0]} is not set: start it by zkleader run TASK -- scan.py …")
    import psycopg2  # here, so that --help needs it no more than you do

    db = psycopg2.connect(args.database)
    db.autocommit = True  # each statement is a transaction
    with db.cursor() as cursor:
        cursor.execute(MARK, names)
        for (job,) in sorted(cursor.fetchall()):
            post(args.post, job, names)
            cursor.execute(DONE + ("" if args.no_fence else FENCE), {"id": job, **names})
            if cursor.rowcount == 0:
                print(f"job {job}: a newer leader has it", file=sys.stderr)
                return 75
    return 0


if __name__ == "__main__":
    sys.exit(main())
