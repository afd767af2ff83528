"""What the tests ask of the page, in words of the page."""

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 30


class Page:
    """The page in a browser."""

    def __init__(self, browser, url, path="/"):
        self.browser = browser
        self.log()
        browser.get(url + path)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).text

    def wait(self, condition, seconds=PATIENCE):
        """Wait until a condition holds; what it returns is returned."""
        waiting = WebDriverWait(self.browser, seconds, 0.05, ignored_exceptions=(StaleElementReferenceException,))
        return waiting.until(lambda _: condition())

    def wait_for_text(self, selector, *words, seconds=PATIENCE):
        self.wait(lambda: all(word in self.text(selector) for word in words), seconds)

    def wait_until_shown(self):
        self.wait(lambda: self.all("#chart svg .forecast") and self.text("#cost-words"))
        return self

    def names(self):
        """The sensors in the order of the list."""
        return [element.text for element in self.all("#list strong")]

    def row(self, name):
        return next(item for item in self.all("#list li") if item.find_element(By.TAG_NAME, "strong").text == name)

    def choose(self, name):
        self.row(name).find_element(By.CSS_SELECTOR, ".sensor").click()
        self.wait_for_text("#chosen-title", name)

    def switch(self, name):
        self.row(name).find_element(By.CSS_SELECTOR, ".switch").click()

    def press(self, *keys):
        actions = ActionChains(self.browser)
        for key in keys:
            actions.send_keys(key)
        actions.perform()

    def focused(self):
        """A short text for the element that has the focus."""
        script = """
            const e = document.activeElement;
            const words = e.querySelector("strong")?.textContent || e.textContent.trim();
            return e.id || e.getAttribute("aria-label") || e.className + " " + words;
        """
        return self.browser.execute_script(script)

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def log(self):
        """What the browser complained about since it was last asked."""
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]

    def tree(self):
        """The nodes of the accessibility tree as (role, name, properties), those that are ignored left out."""
        nodes = self.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""), properties(node))
            for node in nodes
            if not node["ignored"]
        ]


def properties(node):
    return {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
