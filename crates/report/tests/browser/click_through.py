"""Clicks through reports in a headless Chromium, as a reader would, and says what is wrong.

    click_through.py FOLDER      all checks on the pages that crates/report/tests/browser.rs writes there
    click_through.py PAGE.html   how long one page takes to open and to redraw

Counters and contents are asserted. Times are printed and never fail a check.
"""

import json
import pathlib
import shutil
import sys

from playwright.sync_api import sync_playwright

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
PIXEL = """([kind, x, y]) => {
    const canvas = document.querySelector("." + kind + " canvas");
    const ratio = canvas.width / canvas.clientWidth;
    return [...canvas.getContext("2d").getImageData(Math.floor(x * ratio), Math.floor(y * ratio), 1, 1).data].slice(0, 3);
}"""


class Reader:
    """A page that is open, and everything that went wrong on it."""

    def __init__(self, browser, path, width=1280, height=900, scheme="light"):
        self.context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.problems = []
        self.page.on("console", self.told)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.problems.append("a dialog: " + dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requested(request.url))
        self.address = path.resolve().as_uri()
        self.page.goto(self.address)
        self.settle()

    def told(self, message):
        # The checks read pixels back, which the page itself never does.
        if message.type in ("error", "warning") and "willReadFrequently" not in message.text:
            self.problems.append(message.text)

    def requested(self, address):
        if address != self.address and not address.startswith("data:"):
            self.problems.append("asks the network for " + address)

    def settle(self):
        """Two frames: what was asked for is drawn in the first."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def run(self, script, argument=None):
        return self.page.evaluate(script, argument)

    def text(self, selector):
        return self.page.inner_text(selector)

    def place(self, kind, tick, offset=0):
        """Where a tick and an offset are on a canvas of the first panel."""
        return self.run(
            "([kind, tick, offset]) => { const f = page.panels[0].frames[kind]; return [f.x(tick), f.y(offset)]; }",
            [kind, tick, offset],
        )

    def point(self, kind, x, y):
        canvas = self.page.locator("." + kind + " canvas").first
        canvas.scroll_into_view_if_needed()
        canvas.hover(position={"x": x, "y": y})
        self.settle()

    def view(self):
        return self.run("() => [view.from, view.to, view.low, view.high]")

    def close(self):
        self.context.close()
        assert not self.problems, self.problems


def colour(text):
    return [int(text[at : at + 2], 16) for at in (1, 3, 5)]


def check_hover(reader, expected):
    """Every rectangle has the colour of its role, and pointing at it names it."""
    for buffer in expected["buffers"]:
        x, y = reader.place("layout", buffer["tick"] + 0.4, buffer["offset"])
        assert reader.run(PIXEL, ["layout", x, y]) == colour(buffer["colour"]), buffer
        reader.point("layout", x, y)
        tip = reader.text("#tip")
        for piece in buffer["facts"]:
            assert piece in tip, (piece, tip)
    x, y = reader.place("layout", *expected["empty"])
    reader.point("layout", x, y)
    assert reader.page.is_hidden("#tip"), "nothing is there"


def check_curve(reader, expected):
    """The curve tells what is live, and a click lists it."""
    for tick, live in expected["live"]:
        x, y = reader.place("curve", tick + 0.5, 1)
        reader.point("curve", x, y - 4)
        assert live + " live" in reader.text("#tip"), (tick, live, reader.text("#tip"))
    assert expected["peak"] in reader.text(".live h3"), reader.text(".live h3")
    x, y = reader.place("curve", 0.5, 1)
    reader.page.locator(".curve canvas").first.click(position={"x": x, "y": y - 4})
    reader.settle()
    assert "op 0" in reader.text(".live h3"), reader.text(".live h3")
    assert reader.page.locator(".live tbody tr").count() == expected["live at op 0"]


def check_zoom(reader):
    """Wheel, buttons, dragging and double clicks change what is shown."""
    assert reader.view() == [0, 1, 0, 1] and reader.text("#range") == ""
    reader.point("curve", 600, 100)
    reader.page.keyboard.down("Control")
    reader.page.mouse.wheel(0, -200)
    reader.page.keyboard.up("Control")
    reader.settle()
    start, end, *_ = reader.view()
    assert 0 < start < end < 1 and reader.text("#range") != "", reader.view()
    reader.page.click("#zoom-out")
    reader.page.click("#zoom-all")
    assert reader.view() == [0, 1, 0, 1]
    box = reader.page.locator(".layout canvas").first.bounding_box()
    reader.page.mouse.move(box["x"] + 300, box["y"] + 50)
    reader.page.mouse.down()
    reader.page.mouse.move(box["x"] + 500, box["y"] + 150, steps=4)
    reader.page.mouse.up()
    start, end, low, high = reader.view()
    assert end - start < 0.5 and high - low < 0.5, reader.view()
    reader.page.locator(".layout canvas").first.dblclick(position={"x": 400, "y": 100})
    assert reader.view() == [0, 1, 0, 1]
    reader.page.click("#zoom-peak")
    assert reader.view() != [0, 1, 0, 1]
    reader.page.click("#zoom-all")
    reader.settle()


def check_keyboard(reader):
    """Tab reaches every chart, and keys do what pointers do."""
    reader.run("() => document.activeElement.blur()")
    reached = []
    for _ in range(40):
        reader.page.keyboard.press("Tab")
        reached.append(reader.run("() => document.activeElement.getAttribute('aria-label') || document.activeElement.id"))
    for wanted in ("Memory over time", "Unused memory over time", "Layout of buffers", "stack-by", "layer-search"):
        assert any(name.startswith(wanted) for name in reached), (wanted, reached)
    reader.page.locator(".layout canvas").first.focus()
    reader.page.keyboard.press("+")
    start, end, *_ = reader.view()
    assert end - start < 0.6
    reader.page.keyboard.press("ArrowRight")
    assert reader.view()[0] > start
    reader.page.keyboard.press("ArrowLeft")
    reader.page.keyboard.press("-")
    reader.page.keyboard.press("0")
    assert reader.view() == [0, 1, 0, 1]
    told = []
    for key in "nnb":
        reader.page.keyboard.press(key)
        reader.settle()
        told.append(reader.text(".facts"))
    assert told[0] != told[1] and told[0] == told[2] and "bytes" in told[0], told
    reader.page.keyboard.press("Escape")
    assert reader.text(".facts").startswith("Point at")


def names(reader):
    return [name.strip() for name in reader.page.locator("#layer-table tbody tr td:first-child").all_inner_texts()]


def check_table(reader, expected):
    """Columns sort in both directions, and the search filters."""
    assert names(reader) == expected["layers by size"], names(reader)
    for order, direction in ((sorted(expected["layers by size"]), "ascending"), (sorted(expected["layers by size"], reverse=True), "descending")):
        reader.page.locator("#layer-table .sort").first.click()
        assert names(reader) == order, (direction, names(reader))
        assert reader.page.locator("#layer-table th").first.get_attribute("aria-sort") == direction
    reader.page.fill("#layer-search", expected["search"].upper())
    assert names(reader) == [name for name in sorted(expected["layers by size"], reverse=True) if expected["search"] in name]
    reader.page.fill("#layer-search", "")


def check_stack(reader, expected):
    reader.page.select_option("#stack-by", "layer")
    reader.settle()
    legend = reader.text(".legend")
    assert all(layer in legend for layer in expected["layers by size"] if not layer.startswith("(")), legend
    reader.page.select_option("#stack-by", "role")
    reader.settle()
    assert "activations" in reader.text(".legend")


def check_theme(reader, expected):
    """The switch changes the page and its canvases; roles keep their colours."""
    seen = {}
    for theme in ("light", "dark", "system"):
        reader.page.click("#theme")
        reader.settle()
        empty = reader.run(PIXEL, ["layout", *reader.place("layout", *expected["empty"])])
        role = reader.run(PIXEL, ["layout", *reader.place("layout", expected["buffers"][0]["tick"] + 0.4, expected["buffers"][0]["offset"])])
        seen[theme] = (reader.run("() => getComputedStyle(document.body).backgroundColor"), empty, role)
        assert reader.run("() => document.documentElement.dataset.theme ?? 'system'") == theme
    for part in (0, 1):
        assert seen["light"][part] != seen["dark"][part], seen
    assert seen["light"] == seen["system"], seen
    assert seen["light"][2] == seen["dark"][2] == colour(expected["buffers"][0]["colour"]), seen
    reader.page.emulate_media(color_scheme="dark")
    reader.settle()
    assert reader.run("() => getComputedStyle(document.body).backgroundColor") == seen["dark"][0]


def check_access(reader):
    """Everything that can be used has a name, and every picture a description."""
    nameless = reader.run(
        """() => [...document.querySelectorAll("button, select, input, canvas")].filter((one) =>
            !(one.textContent.trim() || one.getAttribute("aria-label") || one.labels?.length)).map((one) => one.outerHTML)"""
    )
    assert nameless == [], nameless
    for canvas in reader.page.locator("canvas").all():
        described = canvas.get_attribute("aria-describedby")
        assert reader.run("(id) => document.getElementById(id).textContent.length", described) > 20


def check_small(browser, folder):
    expected = json.loads((folder / "small.json").read_text())
    reader = Reader(browser, folder / "small.html")
    check_hover(reader, expected)
    check_curve(reader, expected)
    check_zoom(reader)
    check_keyboard(reader)
    check_table(reader, expected)
    check_stack(reader, expected)
    check_access(reader)
    check_theme(reader, expected)
    assert expected["again"] in reader.text(".again h3")
    reader.close()


def check_pair(browser, folder):
    reader = Reader(browser, folder / "pair.html")
    assert reader.page.locator("#comparison tbody tr").count() == 2
    tops = reader.run("() => page.panels.map((panel) => [panel.domain, panel.frames.curve.y(panel.scale), panel.curve.getBoundingClientRect().top])")
    assert tops[0] == tops[1], ("one scale, side by side", tops)
    assert "last − first" in reader.text("#layer-table thead")
    reader.page.click("#zoom-in")
    reader.settle()
    frames = reader.run("() => page.panels.map((panel) => [panel.frames.layout.from, panel.frames.layout.to])")
    assert frames[0] == frames[1], frames
    reader.close()


def check_scales(browser, folder):
    """A small panel beside a large one can be read, and both can stand on one scale."""
    reader = Reader(browser, folder / "scales.html")
    filled = """() => page.panels.map(({ exhibit, frames }) => {
        const { layout } = frames;
        return (layout.y(0) - layout.y(exhibit.raw.peak)) / layout.height;
    })"""
    tiny, huge = reader.run(filled)
    assert tiny > 0.9 and huge > 0.9, ("each on its own scale", tiny, huge)
    reader.page.select_option("#scale", "one")
    reader.settle()
    tiny, huge = reader.run(filled)
    assert tiny < 0.01 and huge > 0.9, ("one scale for all", tiny, huge)
    reader.close()
    reader = Reader(browser, folder / "small.html")
    assert reader.page.is_hidden("#scale") and reader.page.is_hidden("#time"), "one panel needs no choice"
    reader.close()


def check_reported(browser, folder):
    """Where an allocator's own count is known, it is the peak that every figure goes by."""
    reader = Reader(browser, folder / "reported.html")
    figures = reader.text(".figures")
    for piece in ("peak in use", "32.0 MiB", "addresses", "64.0 MiB", "64.0 GiB", "0.0 % of it taken"):
        assert piece in figures, (piece, figures)
    assert "fragmentation" not in figures, figures
    assert "Unused or unknown" in reader.text(".panel") and "peak in use" in reader.text(".legend")
    reader.close()


def check_quiet(browser, folder):
    """A long wait is drawn narrow, the steps behind it have most of the room, and pointing still finds the right moment."""
    reader = Reader(browser, folder / "quiet.html")
    begin = "() => { const p = page.panels[0], f = p.frames.curve, [[tick]] = p.exhibit.raw.marks; return [tick, (f.x(tick) - f.left) / f.width]; }"
    tick, share = reader.run(begin)
    assert share < 0.15, ("the steps begin early", tick, share)
    assert "times narrower" in reader.text(".legend")
    for at in (tick // 2, tick + 3, tick + 20):
        x, y = reader.place("curve", at + 0.5, 1)
        reader.point("curve", x, y - 4)
        wanted = reader.run("(tick) => 'event ' + count(page.panels[0].exhibit.time(tick))", at)
        assert wanted in reader.text("#tip"), (at, wanted, reader.text("#tip"))
    reader.page.click("#zoom-peak")
    reader.settle()
    peak = reader.run("() => { const p = page.panels[0], f = p.frames.curve; return [f.left, f.x(p.exhibit.raw.floorTick), f.right]; }")
    assert peak == sorted(peak), peak
    reader.page.select_option("#time", "even")
    reader.settle()
    tick, share = reader.run(begin)
    assert share > 0.9 and reader.view() == [0, 1, 0, 1], ("even time is offered", tick, share)
    assert "times narrower" not in reader.text(".legend")
    reader.close()


def check_large(browser, folder):
    reader = Reader(browser, folder / "large.html")
    count = reader.run("() => page.panels[0].exhibit.buffers().count")
    assert count == 100_000, count
    before = reader.run("() => ({ ...page.counters })")
    reader.page.locator(".layout canvas").first.focus()
    for key in ["+", "+", "+"] + ["ArrowRight"] * 10 + ["-"] * 3 + ["ArrowLeft"] * 4 + ["0"]:
        reader.page.keyboard.press(key)
        reader.settle()
    after = reader.run("() => ({ ...page.counters })")
    redraws = after["redraws"] - before["redraws"]
    assert 15 <= redraws <= 25, ("a redraw for each change, and no more", redraws)
    assert 0 < after["rectangles"] <= count
    found = reader.run(
        """() => { const p = page.panels[0], f = p.frames.layout, { start, end, offset, bytes, count } = p.exhibit.buffers(); let wrong = 0, asked = 0;
            for (let i = 0; i < count; i += 97) {
                const box = rectangleOf(p, f, i);
                if (box.width < 2 || box.height < 2) continue;
                asked++;
                if (bufferAt(p, box.left + box.width / 2, box.top + box.height / 2) !== i) wrong++;
            }
            return [asked, wrong]; }"""
    )
    average = (after["drawing"] - before["drawing"]) / redraws
    size = (folder / "large.html").stat().st_size
    print(f"time  100,000 buffers: page {size} bytes, ready after {before['ready']:.0f} ms, {redraws} redraws of {average:.1f} ms on average")
    assert found[1] == 0, ("buffers that their own middle does not find", found)
    reader.close()


def check_odd(browser, folder):
    """Names that look like markup stay names; nothing to show is no error."""
    reader = Reader(browser, folder / "hostile.html")
    assert reader.run("() => window.hacked") is None
    assert "<img src=x onerror=hacked=1>" in reader.text(".live")
    assert "</script><script>hacked=1</script>" in reader.text("h1")
    reader.close()
    reader = Reader(browser, folder / "empty.html")
    assert "0 B" in reader.text(".figures")
    reader.page.click("#zoom-in")
    reader.page.locator(".layout canvas").first.hover()
    reader.page.keyboard.press("n")
    reader.close()


def check_narrow(browser, folder):
    cut = """() => [...document.querySelectorAll("th, td")].filter((cell) => {
        const box = cell.getBoundingClientRect(), holder = cell.closest(".scroll");
        return box.width > 0 && (box.right > 400 || (holder && holder.scrollWidth > holder.clientWidth));
    }).map((cell) => cell.textContent)"""
    for name in ("small", "pair", "quiet", "scales", "hostile", "diagnosis"):
        for scheme in ("light", "dark"):
            reader = Reader(browser, folder / (name + ".html"), width=400, height=800, scheme=scheme)
            width = reader.run("() => document.documentElement.scrollWidth")
            assert width <= 400, (name, "is wider than the screen", width)
            assert reader.run(cut) == [], (name, "cells that cannot be seen whole", reader.run(cut))
            reader.close()


def check_diagnosis(browser, folder):
    reader = Reader(browser, folder / "diagnosis.html")
    assert reader.page.locator("svg rect").count() > 3
    light = reader.run("() => getComputedStyle(document.body).backgroundColor")
    reader.page.click("#theme")
    reader.page.click("#theme")
    assert reader.run("() => getComputedStyle(document.body).backgroundColor") != light
    remedies = reader.page.locator("details")
    assert remedies.count() > 3
    assert all(remedies.nth(number).locator("pre").is_visible() for number in range(remedies.count())), "nothing that helps is folded away"
    reader.page.locator("summary").first.click()
    assert reader.page.locator("details pre").first.is_hidden()
    reader.close()


def open_one(browser, path):
    """Opens a page a few times and redraws it: the figures that a record quotes."""
    ready, drawn = [], []
    for _ in range(5):
        reader = Reader(browser, path)
        ready.append(reader.run("() => page.counters.ready"))
        before = reader.run("() => ({ ...page.counters })")
        for change in ["zoom(0.5)"] + ["pan(0.1)"] * 8 + ["showAll()"]:
            reader.run("() => { " + change + "; }")
            reader.settle()
        after = reader.run("() => ({ ...page.counters })")
        drawn.append((after["drawing"] - before["drawing"]) / (after["redraws"] - before["redraws"]))
        reader.close()
    print(f"{path.name}: {path.stat().st_size} bytes, ready after {sorted(ready)[2]:.0f} ms, a redraw takes {sorted(drawn)[2]:.1f} ms (medians of 5)")


def main():
    path = pathlib.Path(sys.argv[1])
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sys.exit("there is no chromium; install.sh installs one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        if path.is_file():
            open_one(browser, path)
        else:
            for check in (check_small, check_pair, check_scales, check_reported, check_quiet, check_large, check_odd, check_narrow, check_diagnosis):
                check(browser, path)
                print("ok   ", check.__name__)
        browser.close()


if __name__ == "__main__":
    main()
