#!/usr/bin/python3
"""A service that does its work where the task is led, and nowhere else, with asyncio.

    follow.py [--socket PATH] [--seconds N] TASK

It tells who leads as that changes, and works while this node does.
"""
import argparse
import asyncio

import zkleader.aio


async def tell(client, task):
    async for change in client.watch(task):
        print(f"{change.task}: {change.state}, led by {change.leader} ({change.version})", flush=True)


async def serve(client, task):
    while True:
        try:
            async with client.leading(task) as lease:
                while True:  # until it is cancelled, as the lease is lost
                    print(f"{task}: at work with token {lease.token}", flush=True)
                    await asyncio.sleep(0.5)
        except zkleader.Lost as e:
            print(e, flush=True)


async def main():
    parser = argparse.ArgumentParser(description="Work where the task is led.")
    parser.add_argument("--socket", help="the sidecar's socket")
    parser.add_argument("--seconds", type=float, help="for so long (for ever)")
    parser.add_argument("task")
    options = parser.parse_args()
    async with zkleader.aio.connect(options.socket) as client:
        await asyncio.wait([asyncio.ensure_future(tell(client, options.task)),
                            asyncio.ensure_future(serve(client, options.task))],
                           timeout=options.seconds, return_when=asyncio.FIRST_EXCEPTION)


if __name__ == "__main__":
    asyncio.run(main())
