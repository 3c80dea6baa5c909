"""The pages of runs: the strip, a filter, the night; for eyes, keyboards, screen readers, and without JavaScript."""
import time

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness.sidecar import queue_text, task_text
from harness.waiting import wait_until

MANY = [f"quiet-{i}" for i in range(60)]


@pytest.fixture
def site(fleet, web, browser, program):
    """Tasks with runs, one of them failed, among many that never ran, and a queue."""
    texts = [task_text(name, tick="1s", description=f"See https://wiki.example.org/{name}") for name in ("cleanup", "nightly")]
    only = fleet.sidecar("only", node="host1", ready=False,
                         tasks=[*texts, *MANY, queue_text("mails", command=["/bin/true"], user="root")])
    served = web(only)
    wait_until(lambda: all(only.leads(t) for t in ("cleanup", "nightly", *MANY)), what="it leads all")
    for task, status in (("cleanup", 0), ("nightly", 0), ("nightly", 3)):
        time.sleep(1.1)
        program("zkleader", "-s", only.socket, "run", task, "--", "sh", "-c", f"exit {status}")
    wait_until(lambda: served.get("/")[2].count("<li title=") == 3, what="the strips are there")
    yield only, served, browser
    assert browser.complaints() == []


def names_of(browser, role):
    """What a screen reader is told of all elements of a role."""
    tree = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    return [n.get("name", {}).get("value", "") for n in tree if n.get("role", {}).get("value") == role and not n["ignored"]]


def shown(browser):
    return browser.js("""return [...document.querySelectorAll('#tasks tbody tr')].filter((r) => !r.hidden).map(
        (r) => r.cells[0].querySelector('a').textContent)""")


def live(browser):
    wait_until(lambda: browser.link_state() == "live", what="the page is live")


def test_the_strip_is_told_to_a_screen_reader(site):
    _, served, browser = site
    browser.open(served)
    live(browser)
    told = [name for name in names_of(browser, "listitem") if name.split(" ")[0] in ("ok", "failed")]
    assert len(told) == 3 and told[1].startswith("failed "), told
    browser.open(served, "/night")
    live(browser)
    assert any("Runs of nightly" in name for name in names_of(browser, "group"))
    assert any("failed" in name and name.endswith(": status") for name in names_of(browser, "link")), names_of(browser, "link")


def test_the_header_stays_and_leads_to_the_queues(site):
    _, served, browser = site
    for width in (390, 1440):
        browser.screen(width, 900)
        browser.open(served)
        live(browser)
        browser.js("window.scrollTo(0, document.body.scrollHeight / 2)")
        wait_until(lambda: browser.js("return document.querySelector('header').getBoundingClientRect().top") == 0,
                   what="the header stays")
        if width == 1440:
            head, table = browser.js("""return [document.querySelector('header').getBoundingClientRect().bottom,
                document.querySelector('#tasks thead th').getBoundingClientRect().top]""")
            assert abs(head - table) < 3, "so does the head of the table"
        browser.driver.find_element(By.CSS_SELECTOR, "header a[href='#queues-part']").click()
        wait_until(lambda: browser.js("""const top = document.getElementById('queues').getBoundingClientRect().top;
            return top > document.querySelector('header').getBoundingClientRect().bottom && top < window.innerHeight"""),
                   what="the queues are in sight")


def test_a_tile_filters_and_what_is_typed_is_kept_in_the_address(site):
    only, served, browser = site
    browser.open(served)
    live(browser)
    assert "nightly" in shown(browser)[:2] and len(shown(browser)) == 63
    # By one script: the tiles are drawn anew when something changes.
    browser.js("[...document.links].find((a) => a.innerText === '1\\nlast run failed').click()")
    wait_until(lambda: browser.driver.current_url.endswith("/?state=failed") and shown(browser) == ["nightly"], what="one is left")
    browser.open(served)
    live(browser)
    browser.type("/")
    browser.type("clean")
    wait_until(lambda: browser.driver.current_url.endswith("/?q=clean"), what="it is in the address")
    assert shown(browser) == ["cleanup"]
    browser.driver.refresh()
    live(browser)
    assert browser.js("return document.getElementById('search').value") == "clean"
    wait_until(lambda: shown(browser) == ["cleanup"], what="it is the same page")
    browser.type("/")
    browser.type(Keys.ESCAPE)
    wait_until(lambda: len(shown(browser)) == 63 and "q=" not in browser.driver.current_url, what="all are there again")


def test_filters_without_javascript(site):
    _, served, browser = site
    browser.open(served)
    browser.scripts(False)
    browser.open(served)
    box = browser.driver.find_element(By.NAME, "q")
    assert box.is_displayed()
    box.send_keys("nightly", Keys.ENTER)
    wait_until(lambda: "q=nightly" in browser.driver.current_url, what="it is asked for")
    assert [e.text for e in browser.all("#tasks tbody th > a")] == ["nightly"]
    assert browser.driver.find_element(By.ID, "found").text == "1 of 63"
    browser.open(served, "/runs?state=failed")
    assert len(browser.all(".runs tbody tr")) == 1 and "exit status 3" in browser.text()
    browser.open(served, "/night?from=1h")
    assert len(browser.all("#night rect.bad")) == 1 and len(browser.all("#night tbody tr")) == 63
    browser.scripts(True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_core_finds_nothing_on_each_page(site, scheme, width):
    _, served, browser = site
    browser.scheme(scheme)
    browser.screen(width, 900)
    for path in ("/", "/?state=failed", "/task/nightly", "/runs", "/night?from=1h", "/?sort=colour"):
        browser.open(served, path)
        if "colour" not in path:
            live(browser)
        assert browser.findings() == [], path
        assert browser.js("return document.documentElement.scrollWidth <= window.innerWidth"), f"{path} scrolls sideways"
    browser.driver.get_log("browser")  # a 400 is a complaint
