"""The picture of the page in the documents: a fleet of three in the middle of a rollout, with runs, and its page.

`make pictures` writes it to the file that $PICTURE names; else it is only made."""
import concurrent.futures
import os
import pathlib
import time

from harness.sidecar import task_text
from harness.waiting import wait_until

SIZE_MAX = 200_000  # bytes
RUNS = 10
TASKS = {  # name: what it is for, the ticks whose run fails
    "nightly-report": ("Sums up the day for the shops", ()),
    "sync-prices": ("Prices of the suppliers", (3, 4)),
    "send-invoices": ("Invoices that are due", (RUNS - 1,)),
    "rotate-keys": ("New keys for the payment gateway", ()),
    "cleanup-carts": ("Carts that nobody came back to", ()),
}


def run_all(program, hosts, name, fails):
    """Its ticks, one after the other, each on the node that leads it by then."""
    done = 0
    while done < RUNS:
        leader = next((h for h in hosts if h.leads(name)), None)
        command = f"sleep 0.{done % 4}; exit {3 if done in fails else 0}"
        if leader and program("zkleader", "-s", leader.socket, "run", "--wait", "0s", name, "--", "sh", "-c", command
                              ).code in (0, 3):
            done += 1
        time.sleep(1.1)  # the next tick


def test_the_picture_of_the_page(fleet, web, browser, program, folder):
    texts = [task_text(name, tick="1s", description=text)
             for name, (text, _) in TASKS.items()]
    hosts = [fleet.sidecar(f"host{i}", start=False, node=f"host{i}", address=f"10.0.0.{i}", version=version, tasks=texts)
             for i, version in ((1, "1.5.0"), (2, "1.5.0"), (3, "1.4.2"))]
    for host in hosts:
        if os.geteuid() == 0:  # with a hostname of its own, as that is in the picture
            host.command = ["unshare", "--uts", "sh", "-c", f"hostname {host.name} && exec \"$@\"", "-"]
        host.start()
    served = web(hosts[0])
    wait_until(lambda: all(any(h.leads(n) for h in hosts) for n in TASKS), what="all are led")
    with concurrent.futures.ThreadPoolExecutor(len(TASKS)) as pool:
        list(pool.map(lambda name: run_all(program, hosts, name, TASKS[name][1]), TASKS))
    hosts[0].call("pause", "cleanup-carts", {"reason": "the database moves"})
    browser.screen(1280, 815)
    browser.scheme("light")
    browser.open(served)
    wait_until(lambda: browser.link_state() == "live" and "the database moves" in browser.text(), what="the page is live")
    wait_until(lambda: browser.js("return document.querySelectorAll('#tasks li[title]').length") >= len(TASKS) * (RUNS - 1),
               what="it shows the runs")
    file = pathlib.Path(os.environ.get("PICTURE") or folder / "page.png")
    assert browser.driver.save_screenshot(str(file))
    assert 10_000 < file.stat().st_size < SIZE_MAX
    assert browser.complaints() == []
