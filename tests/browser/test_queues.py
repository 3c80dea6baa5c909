"""The page of a fleet with queues: what waits, what went wrong, what is paused; alive, in both schemes, on a phone."""
import time

import pytest

from harness.sidecar import queue_text
from harness.waiting import holds_for, wait_until

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
    fails = "echo 'no <b>mail</b> host'; exit 3"
    texts = [queue_text("thumbnails", command=["/bin/sh", "-c", job], user="root", slots=1, description="Of <articles>"),
             queue_text("mails", command=["/bin/sh", "-c", fails], user="root", attempts=1),
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


def no_sideways(browser):
    return browser.js("return document.documentElement.scrollWidth <= window.innerWidth")


def open_queue(site, name):
    _, _, served, browser = site
    browser.open(served, f"/task/{name}")
    wait_until(lambda: browser.link_state() == "live", what="the page is live")
    return browser


def test_the_page_of_a_queue_is_alive(site):
    queues, a, _, _ = site
    browser = open_queue(site, "mails")
    assert "2\ndead letters" in browser.text() and "zkleader requeue --all mails" in browser.text()
    assert "no <b>mail</b> host" in browser.text(), "what a job wrote is shown as it is"
    browser.js("window.same = true")
    job = queues.submit(a, queue="mails")
    queues.wait_state(a, job, "dead")
    wait_until(lambda: job in browser.text(), what="one more is dead, and named")
    assert len(browser.all("#dead tbody tr:not(.output)")) == 3
    a.call("purge", "mails")
    wait_until(lambda: not browser.all("#dead") and "None." in browser.text(), what="none is dead any more")
    assert browser.js("return window.same") is True


def test_the_page_of_a_queue_says_who_runs_what_and_why_it_halts(site):
    _, a, _, _ = site
    browser = open_queue(site, "thumbnails")
    # In one look, as the page replaces what has changed.
    cells = browser.js("""return [...document.querySelectorAll("#running tbody tr")].map(
        (row) => [...row.cells].map((cell) => cell.textContent.trim()))""")
    assert cells == [[a.status()["node"], "1", "1"]]
    assert "Of <articles>" in browser.text() and "Ranking" in browser.text()
    browser = open_queue(site, "invoices")
    assert "the year's end" in browser.text() and "zkleader resume invoices" in browser.text()


def test_the_page_of_a_queue_without_javascript(site):
    _, _, served, browser = site
    browser.open(served)
    browser.scripts(False)
    browser.open(served, "/task/mails")
    assert "zkleader requeue JOB" in browser.text() and len(browser.all("#dead tbody tr:not(.output)")) == 2
    browser.scripts(True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_core_finds_nothing_on_the_page_of_a_queue(site, scheme, width):
    browser = site[3]
    browser.scheme(scheme)
    browser.screen(width, 1000)
    for name in ("mails", "thumbnails", "invoices"):
        open_queue(site, name)
        assert browser.findings() == [], name
        assert no_sideways(browser), f"the page of {name} scrolls sideways"


def test_a_page_that_nobody_sees_asks_for_nothing(site):
    _, a, _, browser = site

    def hide(hidden):
        browser.js("""Object.defineProperty(document, 'hidden', {configurable: true, get: () => arguments_hidden});
            document.dispatchEvent(new Event('visibilitychange'))""".replace("arguments_hidden", "true" if hidden else "false"))

    def asked():
        return a.call("metrics")["requests"]["queue"]

    hide(True)
    time.sleep(2)  # what was begun is over
    before = asked()
    a.call("resume", "invoices")
    holds_for(lambda: asked() == before, 7, "longer than a page waits that is seen")
    assert rows(browser)["invoices"][0] == "paused"
    hide(False)
    wait_until(lambda: rows(browser)["invoices"][0] == "active", 3, "it is fetched as soon as it is seen")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_axe_core_finds_nothing_and_every_number_has_its_name(site, scheme, width):
    _, _, _, browser = site
    browser.scheme(scheme)
    browser.screen(width, 1000)
    assert browser.findings() == []
    assert no_sideways(browser), "the page scrolls sideways"
    heads = browser.js("return getComputedStyle(document.querySelector('#queues thead')).display") != "none"
    labels = browser.js("""return [...document.querySelectorAll('#queues tbody tr:first-child td')].slice(1).map(
        (c) => getComputedStyle(c, '::before').content)""")
    assert heads == (width > 640) and len(labels) == 5 and all(heads == (label in ("none", "normal")) for label in labels)
