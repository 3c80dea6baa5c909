"""The cost of watching: a scrape of all metrics, and the checks of others meanwhile."""
import pathlib
import subprocess
import threading

from contenders import Zkleader
from elections import when_led
from harness.hooks import Notifier
from harness.process import resident_bytes
from harness.waiting import wait_until
from harness.web import Web
from questions import load

CURL = ["/usr/bin/curl", "-s", "-o", "/dev/null", "-w", "%{time_total} %{http_code}"]


def scrape(web):
    """Milliseconds, as curl measures them."""
    said = subprocess.run([*CURL, f"http://127.0.0.1:{web.port}/metrics"], capture_output=True, text=True, check=True)
    seconds, code = said.stdout.split()
    assert code == "200", said.stdout
    return 1000 * float(seconds)


class Scraper:
    """Scrapes as often as Prometheus at its most eager: each second."""

    def __init__(self, web):
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(web,))
        self.thread.start()

    def run(self, web):
        while not self.ended.wait(1):
            scrape(web)

    def end(self):
        self.ended.set()
        self.thread.join()


def watching(report, folder, server, n_tasks, runs, seconds):
    fleet = Zkleader(pathlib.Path(folder) / "watched", server, n_tasks)
    worker = fleet.start(0)
    web = Web(pathlib.Path(folder) / "web", worker.sidecar.socket)
    notifier = Notifier(pathlib.Path(folder) / "notify", worker.sidecar)
    try:
        when_led([worker], n_tasks)
        wait_until(lambda: web.get("/readyz")[0] == 200, what="it has found the sidecar")
        scrapes, before, meanwhile = [], [], []
        for _ in range(runs):
            scrapes.append(min(scrape(web) for _ in range(5)))
            before.append(load(worker.sidecar.socket, 1, 1, seconds, 200)["p99_us"])
            scraper = Scraper(web)
            meanwhile.append(load(worker.sidecar.socket, 1, 1, seconds, 200)["p99_us"])
            scraper.end()
        memory = [resident_bytes(p.process.pid) / 2**20 for p in (web, notifier)]
    finally:
        notifier.close()
        web.close()
        worker.close()
    report.row("scrape_ms", f"a scrape of {n_tasks} tasks", scrapes, "ms", ("<", 20))
    report.row("check_p99_us", "99 of 100 checks are answered within", before, "us")
    report.row("check_p99_scraped_us", "  while it is scraped each second", meanwhile, "us")
    report.row("web_mib", "zkleader-web, resident", memory[:1], "MiB", ("<=", 8))
    report.row("notify_mib", "zkleader-notify, resident", memory[1:], "MiB", ("<=", 8))
