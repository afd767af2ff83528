"""A Chromium without a window, and a stand-in for the service. Only `make test-browser` runs these tests."""

import shutil

import pytest
from stand_in import StandIn, serving

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """One browser for all tests."""
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    binary, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if binary is None or driver is None:
        pytest.skip("chromium or chromedriver is not installed: run make test-browser")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.set_page_load_timeout(60)
    yield browser
    browser.quit()


@pytest.fixture
def look(chromium):
    """Set the size of the window and the color scheme; undone after the test."""

    def set_look(width=1280, height=900, dark=False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    set_look()
    yield set_look
    chromium.get("about:blank")


@pytest.fixture
def stand_in():
    return StandIn()


@pytest.fixture
def address(stand_in):
    with serving(stand_in) as url:
        yield url
