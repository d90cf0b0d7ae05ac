"""Pages in a real browser, for several test modules."""

import shutil

import pytest

from guestlist._report.page import report_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine (Debian: apt install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        # As root a browser has no sandbox of its own to drop into.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """Open results as a page in a tab; at the end, no page has written to the console or requested anything."""
    messages, requests, paths = [], [], []

    def open_page(results, width=1200, made=report_page, dark=False):
        path = tmp_path_factory.mktemp("page") / "report.html"
        path.write_text(made(results), "utf-8")
        paths.append(path.as_uri())
        scheme = "dark" if dark else "light"
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        tab.on("console", lambda message: messages.append(message.text))
        tab.on("pageerror", lambda error: messages.append(str(error)))
        tab.on("dialog", lambda dialog: messages.append(dialog.message))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(path.as_uri())
        return tab

    yield open_page
    assert messages == []
    assert [url for url in requests if not url.startswith("blob:")] == paths
