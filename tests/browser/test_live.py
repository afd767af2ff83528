"""The page with the real service: a small demo is sent, and the page tells what happened by itself."""

import pytest

pytest.importorskip("selenium")

from page_driver import Page
from rich.console import Console
from selenium.webdriver.common.keys import Keys

from subcast.commands.live_demo import LiveSize, prepare, running
from subcast.commands.replay import Fault, replay, sent_times, steps_of
from subcast.commands.service_client import ServiceClient
from subcast.service.security import new_key

SIZE = LiveSize(n_plants=8, n_steps=2500, epochs=2, days=1.0)
NOON = 72


@pytest.fixture(scope="module")
def plant(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live") / "plant"
    robust, later = prepare(folder, 0, SIZE, Console(quiet=True), progress=False)
    return folder, robust, later


def test_a_key_opens_the_page(chromium, look, plant, tmp_path):
    key = new_key(tmp_path / "keys.toml", "wall", "read")
    with running(plant[0], 0, keys=tmp_path / "keys.toml", database=f"sqlite:///{tmp_path}/feed.sqlite3") as url:
        page = Page(chromium, url)
        page.wait(lambda: page.find("#sign-in").is_displayed())
        page.find("#key").send_keys(key, Keys.ENTER)
        page.wait(lambda: len(page.names()) == SIZE.n_plants)
        assert not page.find("#sign-in").is_displayed()
        page.script("sessionStorage.clear()")


def test_the_page_tells_the_story(chromium, look, plant):
    folder, robust, later = plant
    dead, stuck, well = later.variables[1], later.variables[4], later.variables[6]
    faults = [Fault("kill", dead, NOON), Fault("stick", stuck, NOON)]
    steps = list(steps_of(later, faults, sent_times(later, robust.metadata_, now=False)))
    with running(folder, 0) as url:
        client = ServiceClient(url)
        page = Page(chromium, url)
        page.wait_for_text("#headline", "No reading yet")
        replay(steps[:NOON], client, seconds=0, warm=NOON, say=lambda _: None)
        page.wait_until_shown()
        page.wait_for_text("#headline", "11:50", seconds=60)
        assert dead in page.names()
        replay(steps[NOON : NOON + 12], client, seconds=0, warm=1, say=lambda _: None)
        page.wait(lambda: page.names()[0] == dead, seconds=60)
        page.wait_for_text("#happened", f"{dead} is dead", f"{stuck} is stuck")
        assert "has sent nothing" in page.row(dead).text
        assert "without a change" in page.row(stuck).text
        page.choose(stuck)
        page.wait(lambda: page.all("#chart .left-out"))
        assert "Its forecast comes from the other sensors" in page.text("#chosen-health")
        assert len(page.all("#days li")) == 8
        page.wait_for_text("#cost-words", "2 sensors", dead)
        page.wait_for_text("#truth-words", "interval")
        page.switch(well)
        page.wait_for_text("#what-if-words", f"Without {well}", "→")
        page.wait(lambda: page.all("#chart .other"))
        assert page.log() == []
        client.close()
    page.wait_for_text("#notice", "The service does not answer")
