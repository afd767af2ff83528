"""The page in a real Chromium, with a stand-in for the service that tells a fixed story."""

import pytest

pytest.importorskip("selenium")

from page_driver import Page
from selenium.webdriver.common.keys import Keys
from stand_in import DEAD, DUBIOUS, HOSTILE, NAMES, REPAIRED, STUCK, text


@pytest.fixture
def page(chromium, look, address):
    return Page(chromium, address).wait_until_shown()


class TestStory:
    def test_sensors_by_health_each_with_a_light_since_when_and_why(self, page):
        assert page.names()[:4] == [DEAD, STUCK, DUBIOUS, REPAIRED]
        assert page.names()[4:] == [name for name in NAMES if name not in page.names()[:4]]
        assert page.text("#counts").split("\n") == [
            "1 dead",
            "1 stuck",
            "1 suspect",
            "1 in maintenance",
            "9 good",
        ]
        assert "stuck since 11:10: flat line: 12 equal readings" in page.row(STUCK).text
        assert "dead since 11:10: time gap: nothing for 9 steps" in page.row(DEAD).text
        lights = {
            page.row(name).find_element("css selector", ".light path").get_attribute("d") for name in page.names()[:5]
        }
        assert len(lights) == 5  # told apart by shape, not by color alone

    def test_the_forecast_of_a_chosen_sensor_with_interval_and_past(self, page):
        page.choose(STUCK)
        assert len(page.all("#chart .forecast")) == len(page.all("#chart .band")) == 1
        page.wait(lambda: len(page.all("#chart .left-out")) == 10)
        assert "Its forecast comes from the other sensors" in page.text("#chosen-health")
        assert "left out as bad" in page.text("#legend")
        assert f"#sensor={STUCK}" in page.browser.current_url
        page.choose(NAMES[0])
        page.wait(lambda: not page.all("#chart .left-out"))
        assert page.find("#chosen-health").text.startswith("Good.")

    def test_the_days_it_leaned_on(self, page):
        days = page.all("#days li")
        assert [day.text.split("\n")[0] for day in days[:2]] == ["20 Apr 2026, 11:20", "19 Apr 2026, 12:20"]
        assert "40 %" in days[0].text
        assert not page.all("#chart .named")
        days[1].find_element("css selector", "button").click()
        page.wait(lambda: len(page.all("#chart .named")) == 1)
        assert page.all("#days button")[1].get_attribute("aria-pressed") == "true"

    def test_cost_coverage_and_events(self, page):
        assert "+1.9 %" in page.text("#cost-words")
        assert f"{DEAD} since 11:10: its interval is 6.2 MW wide, 2 times as wide as at this time of day" in page.text(
            "#cost-words"
        )
        assert "91 %\nof 300 readings lay inside their 90 % interval (87 % without" in page.text("#truth-words")
        assert page.all("#truth-words .coverage path")
        assert [line.split("\n")[1] for line in (item.text for item in page.all("#happened li"))] == [
            f"{STUCK} is stuck at 12.3 MW", f"{DEAD} sends nothing",
        ]  # fmt: skip

    def test_numbers_as_a_table(self, page):
        page.find("summary").click()
        assert len(page.all("#numbers tbody tr")) == 12
        assert page.all("#numbers tbody td")[0].text == "12:50"

    def test_a_link_to_a_sensor(self, chromium, look, address):
        page = Page(chromium, address, f"/#sensor={DEAD}").wait_until_shown()
        assert page.text("#chosen-title") == f"Forecast of {DEAD}"

    def test_search(self, page):
        page.find("#find").send_keys("003")
        page.wait(lambda: page.names() == [STUCK])
        page.find("#find").send_keys("x")
        page.wait(lambda: page.names() == [])
        assert page.text("#none-found") == "No sensor has a name like that."

    def test_the_sensor_that_fell_ill_last_is_shown_until_one_is_chosen(self, chromium, look, address, stand_in):
        stand_in.step = 28
        page = Page(chromium, address).wait_until_shown()
        assert page.text("#chosen-title") == f"Forecast of {NAMES[0]}"
        stand_in.step = 32
        page.wait_for_text("#chosen-title", DEAD)
        stand_in.step = 35
        page.wait_for_text("#chosen-title", STUCK)
        assert "#" not in page.browser.current_url
        page.choose(NAMES[2])
        stand_in.step = 36
        page.wait_for_text("#headline", "12:00")
        assert page.text("#chosen-title") == f"Forecast of {NAMES[2]}"


class TestWhatIf:
    def test_switching_off_shows_what_would_change(self, page, stand_in):
        page.switch(NAMES[0])
        page.wait_for_text("#what-if-words", f"Without {NAMES[0]}:", "+1.9 % → +2.7 %", "6.0 % wider")
        page.wait(lambda: len(page.all("#chart .other")) == 1)
        assert page.row(NAMES[0]).find_element("css selector", ".switch").get_attribute("aria-checked") == "false"
        page.switch(NAMES[1])
        page.wait_for_text("#what-if-words", f"Without {NAMES[0]}, {NAMES[1]}:", "→ +3.5 %")
        assert stand_in.asked_without() == [NAMES[0], NAMES[1]]
        page.find("#all-on").click()
        page.wait_for_text("#what-if-words", "Switch sensors off in the list")
        page.wait(lambda: not page.all("#chart .other"))

    def test_it_is_asked_again_at_the_next_step(self, page, stand_in):
        page.switch(NAMES[2])
        page.wait_for_text("#what-if-words", "→")
        before = len(stand_in.asked)
        stand_in.step += 1
        page.wait(lambda: any(path.endswith("what-if") for _, path, _ in stand_in.asked[before:]))
        assert page.row(NAMES[2]).get_attribute("class") == "off"


class TestLive:
    def test_the_page_follows_the_feed_and_keeps_the_focus(self, chromium, look, address, stand_in):
        stand_in.step = 28
        page = Page(chromium, address).wait_until_shown()
        assert page.names()[:2] == [DUBIOUS, REPAIRED]
        page.row(STUCK).find_element("css selector", ".sensor").click()
        stand_in.step = 34
        page.wait(lambda: page.names()[:2] == [DEAD, STUCK])
        page.wait_for_text("#headline", "1 May 2026, 11:40")
        assert STUCK in page.focused()
        assert "2 sensors out" in page.browser.title

    def test_away_and_back(self, page, stand_in):
        stand_in.away = True
        page.wait_for_text(
            "#notice", "The service has a problem since", "the database is away", "from 1 May 2026, 12:40"
        )
        assert page.names()  # what is known stays
        stand_in.away = False
        page.wait(lambda: not page.find("#notice").is_displayed())

    def test_a_service_that_stopped(self, chromium, look, stand_in):
        from stand_in import serving

        with serving(stand_in) as url:
            page = Page(chromium, url).wait_until_shown()
        page.wait_for_text("#notice", "The service does not answer since", "it is asked again", "12:40")

    def test_stale(self, page, stand_in):
        stand_in.stale = True
        stand_in.step += 1
        page.wait_for_text("#notice", "The newest forecast is 67 min old")
        assert page.find("#notice").get_attribute("role") == "status"

    def test_nothing_yet(self, chromium, look, address, stand_in):
        stand_in.step = None
        page = Page(chromium, address)
        page.wait_for_text("#headline", "No reading yet")
        page.wait_for_text("#chosen-title", "no forecast yet")
        stand_in.step = 20
        page.wait_until_shown()


class TestKeys:
    def test_a_key_is_asked_for_and_kept_in_the_tab(self, chromium, look, address, stand_in):
        stand_in.key = "word"
        page = Page(chromium, address)
        page.wait(lambda: page.find("#sign-in").is_displayed())
        assert not page.find("#main").is_displayed()
        page.find("#key").send_keys("wrong", Keys.ENTER)
        page.wait_for_text("#headline", "a key is needed")
        page.find("#key").send_keys("word", Keys.ENTER)
        page.wait_until_shown()
        page.browser.refresh()
        page.wait_until_shown()
        assert page.script("return localStorage.length + document.cookie.length") == 0
        page.script("sessionStorage.clear()")


class TestKeyboard:
    def test_everything_without_a_mouse(self, page):
        page.press(Keys.TAB)
        assert page.text(":focus") == "Skip to the forecast"
        page.press(Keys.TAB)
        assert page.focused() == "find"
        page.press(Keys.TAB, Keys.HOME, Keys.ARROW_DOWN)
        assert STUCK in page.focused()
        page.press(Keys.ENTER)
        page.wait_for_text("#chosen-title", STUCK)
        page.press(Keys.TAB)
        assert page.focused() == f"Use {STUCK}"
        page.press(Keys.END)
        assert page.focused() == f"Use {NAMES[-1]}"
        page.press(Keys.SPACE)
        page.wait_for_text("#what-if-words", f"Without {NAMES[-1]}")
        page.press(Keys.TAB)
        assert page.focused() == "chart"  # one stop for the whole list
        page.press(Keys.ARROW_RIGHT)
        page.wait_for_text("#readout", "12:50: forecast", "MW", "with the switched-off sensors out")
        page.press(Keys.HOME)
        page.wait_for_text("#readout", "06:50:")

    def test_the_focus_is_visible(self, page):
        page.press(Keys.TAB, Keys.TAB, Keys.TAB)
        width = page.script("return getComputedStyle(document.activeElement).outlineWidth")
        assert float(width.removesuffix("px")) >= 2


class TestScreenReader:
    def test_every_control_has_a_name_and_states(self, page):
        page.switch(NAMES[0])
        page.wait_for_text("#what-if-words", "→")
        tree = page.tree()
        controls = [
            (role, name) for role, name, _ in tree if role in ("button", "switch", "searchbox", "link", "img", "image")
        ]
        assert [role for role, name in controls if not name] == []
        switches = {name: properties["checked"] for role, name, properties in tree if role == "switch"}
        assert len(switches) == len(NAMES)
        assert switches[f"Use {NAMES[0]}"] == "false"
        assert switches[f"Use {NAMES[1]}"] == "true"

    def test_the_chart_is_told_in_a_sentence(self, page):
        page.choose(NAMES[0])
        names = [name for role, name, _ in page.tree() if role in ("img", "image")]
        assert any(name.startswith(f"Readings and forecast of {NAMES[0]}: 29.9 at 12:50") for name in names)

    def test_health_is_text_in_the_button(self, page):
        names = [name for role, name, _ in page.tree() if role == "button"]
        assert f"{STUCK} stuck since 11:10: flat line: 12 equal readings" in names

    def test_headings(self, page):
        headings = [name for role, name, _ in page.tree() if role == "heading"]
        assert headings[0] == "clouds"
        assert "What the silent sensors cost now" in headings


class TestLooks:
    @pytest.mark.parametrize("width", [360, 390, 800, 1280, 1920])
    def test_nothing_sticks_out(self, chromium, look, address, width):
        look(width=width, height=800)
        page = Page(chromium, address).wait_until_shown()
        page.switch(NAMES[0])
        page.wait_for_text("#what-if-words", "→")
        assert page.script("return document.documentElement.scrollWidth <= window.innerWidth")

    def test_on_a_phone(self, chromium, look, address):
        look(width=390, height=844)
        page = Page(chromium, address).wait_until_shown()
        small = page.script(
            "return [...document.querySelectorAll('button')].filter(b => b.offsetParent)"
            ".filter(b => b.getBoundingClientRect().height < 24).length"
        )
        assert small == 0
        page.choose(DEAD)
        page.wait(lambda: page.script("return document.querySelector('#chosen').getBoundingClientRect().top") < 60)

    @pytest.mark.parametrize("dark", [False, True])
    def test_text_can_be_read(self, chromium, look, address, dark):
        look(dark=dark)
        page = Page(chromium, address).wait_until_shown()
        ground = page.script("return getComputedStyle(document.querySelector('section')).backgroundColor")
        assert (luminance(ground) < 0.1) == dark
        for name in ("ink", "soft", "accent", "other", "good", "suspect", "bad", "asleep", "maintenance"):
            color = page.script(
                "const e = document.createElement('i'); e.style.color = `var(--${arguments[0]})`;"
                "document.body.append(e); const c = getComputedStyle(e).color; e.remove(); return c;", name,
            )  # fmt: skip
            lighter, darker = sorted((luminance(color), luminance(ground)), reverse=True)
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, name


def luminance(color):
    """The relative luminance of a color such as rgb(1, 2, 3), as WCAG defines it."""
    parts = [int(part) / 255 for part in color.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class TestSafety:
    def test_no_complaint_and_nothing_from_elsewhere(self, page, address):
        page.choose(DUBIOUS)
        page.switch(NAMES[4])
        page.wait_for_text("#what-if-words", "→")
        assert page.log() == []
        loaded = page.script("return performance.getEntriesByType('resource').map(e => e.name)")
        assert loaded
        assert all(name.startswith(address) for name in loaded)

    def test_names_are_text(self, page):
        page.choose(HOSTILE)
        assert page.script("return window.broken") is None
        assert not page.all("#list img, #chosen img")

    def test_inline_scripts_do_not_run(self, page):
        page.script(
            "const s = document.createElement('script'); s.textContent = 'window.broken = 1'; document.body.append(s);"
        )
        assert page.script("return window.broken") is None


def test_the_story_of_the_stand_in_fits_the_tests():
    assert text(40) == "2026-05-01T12:40:00"
