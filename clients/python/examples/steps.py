#!/usr/bin/python3
"""An application that works in steps, each of them only while its node leads the task.

    steps.py [--socket PATH] [--steps N] TASK

Exit code: 0 all steps done, 1 another node leads the task, 2 cannot tell, or leadership was lost on the way,
3 misuse such as an unknown task, 4 nobody may lead it now.
"""
import argparse
import sys

import zkleader


def work(client, task, steps):
    with client.leading(task, wait=1) as lease:
        for step in range(1, steps + 1):
            lease.check()
            # Whatever the step writes goes along with the token; the store refuses a smaller one than it has
            # seen. So even a step that takes longer than the lease does no harm.
            print(f"{task}: step {step} of {steps} with token {lease.token}, {lease.left:.1f} s left", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Work on a task in steps, while this node leads it.")
    parser.add_argument("--socket", help="the sidecar's socket")
    parser.add_argument("--steps", type=int, default=3, help="how many steps the work has (%(default)s)")
    parser.add_argument("task")
    options = parser.parse_args()
    try:
        with zkleader.connect(options.socket) as client:
            work(client, options.task, options.steps)
    except zkleader.Lost as e:
        print(e, file=sys.stderr)
        return 2
    except zkleader.Error as e:
        print(e, file=sys.stderr)
        return e.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
