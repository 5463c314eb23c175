"""Chromium for the tests of the page: without a screen, without a network beyond this host."""

import contextlib
import json
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

DEADLINE = 20  # seconds; only a failure takes that long
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run",
         "--force-device-scale-factor=1", "--lang=en")
WIDE, PHONE = (1360, 860), (360, 780)


class Browser:
    """One Chromium, used for one page after the other."""

    def __init__(self):
        options = webdriver.ChromeOptions()
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.run = self.driver.execute_script

    def quit(self):
        self.driver.quit()

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def open(self, address, size=WIDE, dark=False, motion=True):
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.command("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1],
                     deviceScaleFactor=1, mobile=False)
        self.command("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "no-preference" if motion else "reduce"}])
        self.driver.get(address)

    def open_live(self, address, **how):
        self.open(address, **how)
        self.wait_for("return document.getElementById('state').textContent === 'live'")
        self.driver.execute_async_script(  # what is live is drawn in the next frame
            "const drawn = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(drawn))")

    def wait_for(self, script, *arguments, what=None):
        """What the script returns, once that is true."""
        until = time.monotonic() + DEADLINE
        while True:
            answer = self.run(script, *arguments)
            if answer:
                return answer
            if time.monotonic() > until:
                raise AssertionError(f"never: {what or script}\n{self.text()[:3000]}\n{self.log()}")

    def wait_for_call(self, is_so, seen):
        until = time.monotonic() + DEADLINE
        while not is_so():
            assert time.monotonic() < until, f"never; at last: {seen()}"

    def click(self, selector):
        """The first one, once it is there."""
        self.wait_for("const e = document.querySelector(arguments[0]); e?.click(); return Boolean(e)", selector)

    def text(self):
        return self.run("return document.body.innerText")

    def log(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def must_be_clean(self, unless=()):
        """No error on the console, no violation of the policy; `unless` has words of expected ones."""
        bad = [line for line in self.log() if not any(word in line for word in unless)]
        assert not bad, bad

    def press(self, *keys):
        for key in keys:
            self.command("Input.dispatchKeyEvent", type="keyDown", **KEYS.get(key, {"key": key,
                         "text": key}))
            self.command("Input.dispatchKeyEvent", type="keyUp", **KEYS.get(key, {"key": key}))

    def focused(self):
        return self.run("const e = document.activeElement; return {tag: e.tagName, id: e.id, "
                        "text: e.textContent, label: e.getAttribute('aria-label')}")

    def picture(self, path):
        self.driver.save_screenshot(str(path))


def key(name, code, **more):
    return {"key": name, "code": name, "windowsVirtualKeyCode": code, **more}


KEYS = {"Tab": key("Tab", 9), "Enter": key("Enter", 13, text="\r"), "Escape": key("Escape", 27),
        "ArrowDown": key("ArrowDown", 40), "ArrowUp": key("ArrowUp", 38),
        "ArrowRight": key("ArrowRight", 39), "ArrowLeft": key("ArrowLeft", 37),
        "End": key("End", 35), "Home": key("Home", 36), "Space": key(" ", 32, text=" ")}


@contextlib.contextmanager
def browser():
    made = Browser()
    try:
        yield made
    finally:
        made.quit()


def pretty(thing):
    return json.dumps(thing, indent=1)
