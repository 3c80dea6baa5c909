"""A headless Chromium that notes what it asks for and what it complains about."""
import json
import pathlib

from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

AXE = pathlib.Path(__file__).parent / "node_modules/axe-core/axe.min.js"


class Browser:
    def __init__(self, folder):
        folder.mkdir()
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder}"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_page_load_timeout(60)
        self.requested = []

    def open(self, web, path="/"):
        self.driver.get(f"http://127.0.0.1:{web.port}{path}")

    def text(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def link_state(self):
        return self.driver.find_element(By.ID, "link").text

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def type(self, *keys):
        """As from a keyboard: to whatever has the focus."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def focus(self, key):
        """That of the element with the focus; asked of the page, which may have replaced it meanwhile."""
        return self.js("return document.activeElement[arguments[0]]", key)

    def js(self, script, *args):
        return self.driver.execute_script(script, *args)

    def scheme(self, name):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def screen(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def scripts(self, on):
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not on})

    def findings(self):
        """The faults that axe-core finds in the page as it is: a line each."""
        self.driver.execute_script(AXE.read_text())
        found = self.driver.execute_async_script(
            "axe.run(document, {resultTypes: ['violations']}).then(arguments[arguments.length - 1])")
        return [f"{v['id']}: {v['help']}: {n['html']}" for v in found["violations"] for n in v["nodes"]]

    def complaints(self):
        """The console's errors, but for those of a server that is away, which some tests are about."""
        return [e["message"] for e in self.driver.get_log("browser")
                if e["level"] in ("SEVERE", "WARNING") and "net::ERR_" not in e["message"]
                and "503 (Service Unavailable)" not in e["message"]]

    def requests(self):
        """The addresses of all requests so far."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
        return self.requested

    def close(self):
        self.driver.quit()
