"""The page of a fleet with queues: what waits, what went wrong, what is paused; alive, in both schemes, on a phone."""
import pytest

from harness.sidecar import queue_text
from harness.waiting import wait_until

CELLS = """return [...document.querySelectorAll('#queues tbody tr')].map(
    (r) => [...r.cells].map((c) => c.textContent.trim()))"""


def rows(browser):
    """By the name of the queue."""
    return {name: cells for name, *cells in browser.js(CELLS)}


@pytest.fixture
def site(queues, web, browser, folder):
    """A sidecar with three queues: one at work with jobs behind it, one with dead letters, one that is halted."""
    over = folder / "over"
    job = f"until [ -e {over} ]; do sleep 0.1; done"
    texts = [queue_text("thumbnails", command=["/bin/sh", "-c", job], user="root", slots=1, description="Of <articles>"),
             queue_text("mails", command=["/bin/false"], user="root", attempts=1),
             queue_text("invoices", command=["/bin/true"], user="root")]
    a = queues.site("a", *texts)
    for name in ("thumbnails", "mails", "invoices"):
        queues.wait_open(name)
    for job in [queues.submit(a, queue="mails") for _ in range(2)]:
        queues.wait_state(a, job, "dead")
    running = queues.submit(a, queue="thumbnails")
    queues.wait_state(a, running, "running")
    queues.submit(a, queue="thumbnails")
    a.call("pause", "invoices", {"reason": "the year's end"})
    served = web(a)
    wait_until(lambda: served.get("/readyz")[0] == 200, what="it is ready")
    browser.open(served)
    wait_until(lambda: browser.link_state() == "live" and len(rows(browser)) == 3, what="the page is live")
    yield queues, a, served, browser
    over.touch()
    assert browser.complaints() == []


def test_a_change_is_seen_without_a_reload(site):
    queues, a, _, browser = site
    found = rows(browser)
    assert found["invoices"][0] == "paused" and found["mails"][4] == "2"
    assert found["thumbnails"][1] == "1" and found["thumbnails"][3] == "1" and found["thumbnails"][2] != "–"
    browser.js("window.same = true")
    queues.submit(a, queue="thumbnails")
    wait_until(lambda: rows(browser)["thumbnails"][1] == "2", what="one more waits")
    queues.wait_state(a, queues.submit(a, queue="mails"), "dead")
    wait_until(lambda: rows(browser)["mails"][4] == "3", what="one more is dead")
    a.call("resume", "invoices")
    wait_until(lambda: rows(browser)["invoices"][0] == "active", what="it goes on")
    assert browser.js("return window.same") is True


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_core_finds_nothing_and_every_number_has_its_name(site, scheme, width):
    _, _, _, browser = site
    browser.scheme(scheme)
    browser.screen(width, 1000)
    assert browser.findings() == []
    assert browser.js("return document.documentElement.scrollWidth <= window.innerWidth"), "the page scrolls sideways"
    heads = browser.js("return getComputedStyle(document.querySelector('#queues thead')).display") != "none"
    labels = browser.js("""return [...document.querySelectorAll('#queues tbody tr:first-child td')].slice(1).map(
        (c) => getComputedStyle(c, '::before').content)""")
    assert heads == (width > 640) and len(labels) == 5 and all(heads == (label in ("none", "normal")) for label in labels)
