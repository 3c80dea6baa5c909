"""The page, as people meet it: alive, by keyboard alone, in both schemes, on a phone, without JavaScript."""
import pytest
from selenium.webdriver.common.keys import Keys

from harness.sidecar import task_text
from harness.waiting import wait_until

TASKS = ["nightly-report", "cleanup", "archive"]


@pytest.fixture
def page(fleet, web, browser):
    """A fleet of one, what serves its page, and the page."""
    only = fleet.sidecar("only", tasks=TASKS)
    served = web(only)
    wait_until(lambda: served.get("/readyz")[0] == 200, what="it is ready")
    wait_until(lambda: all(only.leads(t) for t in TASKS), what="it leads all")
    browser.open(served)
    wait_until(lambda: browser.link_state() == "live", what="the page is live")
    yield only, served, browser
    assert browser.complaints() == []
    foreign = [u for u in browser.requests()
               if not u.startswith((f"http://127.0.0.1:{served.port}/", "data:", "chrome:", "about:"))]
    assert foreign == []


def test_a_change_is_seen_without_a_reload(page):
    only, _, browser = page
    browser.js("window.same = true")
    only.call("pause", "cleanup", {"reason": "<script>alert(1)</script>"})
    wait_until(lambda: "<script>alert(1)</script>" in browser.text(), what="the decision is shown, as text")
    only.call("resume", "cleanup")
    wait_until(lambda: "alert(1)" not in browser.text(), what="it is gone again")
    assert browser.js("return window.same") is True


def test_it_is_honest_when_the_sidecar_goes_and_finds_it_again(page):
    only, _, browser = page
    only.kill()
    wait_until(lambda: "last known" in browser.link_state(), what="it says that what it shows is old")
    assert "nightly-report" in browser.text()
    only.start()
    wait_until(lambda: browser.link_state() == "live", what="it is live again")
    wait_until(lambda: "nightly-report" in browser.text() and "does not answer" not in browser.text(),
               what="it shows the fleet")


def test_by_keyboard_alone(page):
    _, _, browser = page
    browser.type("/")
    assert browser.focus("id") == "search"
    browser.type("night")
    wait_until(lambda: browser.js("return document.getElementById('found').textContent") == "1 of 3", what="it is found")
    for _ in range(10):
        browser.type(Keys.TAB)
        if browser.focus("href"):
            break
    browser.type(Keys.ENTER)
    wait_until(lambda: browser.driver.current_url.endswith("/task/nightly-report"), what="its page opens")
    wait_until(lambda: "Ranking" in browser.text() and browser.link_state() == "live", what="with its ranking")


def test_what_is_typed_and_focused_outlives_a_change(page):
    only, _, browser = page
    browser.type("/")
    browser.type("clean")
    only.call("pause", "archive", {"reason": "a change"})
    wait_until(lambda: "a change" in browser.js("return document.getElementById('tasks').textContent"),
               what="the change is there")
    assert browser.js("return document.activeElement.id + document.activeElement.value") == "searchclean"
    assert browser.js("return document.getElementById('found').textContent") == "1 of 3"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_core_finds_nothing(page, scheme):
    only, _, browser = page
    browser.scheme(scheme)
    only.call("pause", "cleanup", {"reason": "for now"})
    only.call("drain", {"reason": "a new kernel", "force": True})
    wait_until(lambda: "a new kernel" in browser.text() and "for now" in browser.text(), what="both are shown")
    assert browser.findings() == []
    browser.open(page[1], "/task/cleanup")
    wait_until(lambda: browser.link_state() == "live", what="it is live")
    assert browser.findings() == []
    only.kill()
    wait_until(lambda: "last known" in browser.link_state(), what="it is stale")
    assert browser.findings() == []
    browser.open(page[1], "/")
    assert "does not answer" in browser.text() and browser.findings() == []


def test_without_javascript(fleet, web, browser):
    only = fleet.sidecar("only", tasks=TASKS)
    served = web(only)
    wait_until(lambda: served.get("/readyz")[0] == 200, what="it is ready")
    browser.scripts(False)
    browser.open(served)
    assert all(task in browser.text() for task in TASKS)
    assert not any(box.is_displayed() for box in browser.all("#search"))
    browser.open(served, "/task/cleanup")
    assert "Ranking" in browser.text()


@pytest.mark.parametrize(("width", "height"), [(360, 740), (1280, 800), (2560, 1440)])
def test_a_thousand_tasks_on_each_screen(fleet, web, browser, width, height):
    names = [f"job-{i}" for i in range(1000)]
    only = fleet.sidecar("only", tasks=[task_text(n, description=f"what {n} is for") for n in names])
    served = web(only)
    wait_until(lambda: only.status()["leads"] == 1000, what="it leads all")
    wait_until(lambda: served.get("/readyz")[0] == 200, what="it is ready")
    browser.screen(width, height)
    browser.open(served)
    wait_until(lambda: browser.link_state() == "live", what="it is live")
    assert browser.js("return [...document.querySelectorAll('#tasks tbody th a')].map((a) => a.textContent)") == names
    assert browser.js("return document.documentElement.scrollWidth <= window.innerWidth"), "the page scrolls sideways"
    browser.type("/")
    browser.type("job-99")
    wait_until(lambda: browser.js("return document.getElementById('found').textContent") == "11 of 1000",
               what="those with it in their name are left")


def test_axe_core_finds_what_is_wrong(page):
    """The canary: a picture without a text and a text that is hardly there."""
    browser = page[2]
    browser.js("""const p = document.createElement('p'), picture = document.createElement('img');
        p.textContent = 'hardly there';
        p.style.color = '#888';
        p.style.background = '#999';
        picture.src = '/icon.svg';
        document.body.append(p, picture);""")
    found = "\n".join(browser.findings())
    assert "image-alt" in found and "color-contrast" in found
