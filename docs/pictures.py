"""Takes the pictures in this folder: reports of what the commands below make, in a headless Chromium.

    python docs/pictures.py PLIMSOLL SHARED

PLIMSOLL is the binary; SHARED the folder with the recorded TensorFlow runs (see crates/import/tests/dumps/ORIGIN.md for how such are made). The Python
is the one that crates/report/tests/browser/install.sh makes.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

HERE = pathlib.Path(__file__).parent
DUMPS = HERE.parent / "crates/import/tests/dumps"


def take(browser, page, name, width, height, scheme, act=None):
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.wait_for_timeout(500)
    if act:
        act(tab)
        tab.wait_for_timeout(300)
    tab.screenshot(path=str(HERE / (name + ".png")))
    context.close()


def point_at_a_buffer(tab):
    """The facts of a large activation, somewhat right of the peak."""
    x, y = tab.evaluate("() => { const f = page.panels[0].frames.layout; return [f.x(520), f.y(560 * 2 ** 20)]; }")
    tab.locator(".layout canvas").first.hover(position={"x": x, "y": y})


def main():
    plimsoll, shared = sys.argv[1], pathlib.Path(sys.argv[2])
    folder = pathlib.Path(tempfile.mkdtemp())
    traces = shared / "tensorflow/traces"

    def report(name, *arguments):
        path = folder / (name + ".html")
        subprocess.run([plimsoll, "report", *map(str, arguments), "-o", str(path)], check=True)
        return path

    def train(name, *arguments):
        path = folder / name
        subprocess.run([plimsoll, "train", *arguments, "--trace", str(path)], check=True, stdout=subprocess.DEVNULL)
        return path

    plan = report("plan", "resnet50@224", "--batch", "8", "--limit", "1GiB")
    eager = train("lstm.trace", "lstm", "--data", "synthetic", "--lengths", "16,32,64", "--steps", "6", "--mode", "eager", "--memory", "96MiB")
    lengths = report("lengths", eager, "--label", "LSTM, eager, three lengths")
    names = ["--label", "Plimsoll", "--label", "TensorFlow, tf.function", "--label", "TensorFlow, eager"]
    recorded = [traces / "resnet50_64_8_adam.txt.gz", traces / "resnet50_64_8_adam_mode-eager.txt.gz"]
    beside = report("beside", "resnet50@64", *recorded, "--batch", "8", "--limit", "400MiB", *names)
    doctor = report("doctor", DUMPS / "FRAG_checkerboard_128MB.stderr.gz")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        take(browser, plan, "report-plan-light", 1280, 1180, "light", point_at_a_buffer)
        take(browser, beside, "report-side-by-side-dark", 1280, 1240, "dark")
        take(browser, lengths, "report-narrow-light", 400, 1240, "light")
        take(browser, lengths, "report-narrow-dark", 400, 1240, "dark")
        take(browser, doctor, "diagnosis-light", 1280, 900, "light")
        take(browser, doctor, "diagnosis-dark", 1280, 900, "dark")
        browser.close()


if __name__ == "__main__":
    main()
