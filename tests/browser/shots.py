"""Makes the pictures in docs/img/ with Chromium, from pages of captures in the repository:

    make -s tools && python3 tests/browser/shots.py [docs/img]

Each shows one view, as wide as a page of text, and has less than 150 kB.
"""
import base64
import os
import subprocess
import sys
import tempfile

from chromium import Page

MOST_BYTES = 150 * 1000
WIDTH = 1160
SONDE, BUILD = os.environ.get("SONDE", "build/sonde"), os.environ.get("BUILD", "build")
PAGES = {
    "run": ("report", "examples/h200_train"),
    "graph": ("diff", "tests/data/diff/eager.sonde.gz", "tests/data/diff/graph.sonde.gz"),
}
FORWARD = "change({region: regionNumber('step/forward')}); "
KERNEL = "change({tab: 'kernels', kernel: state.report.kernels.name[kernelGrid.rows[1]]}); "
GAP = "showGap(state.report.gaps.find((g) => g.region >= 0 && data.regions[g.region].id.startsWith('warmup/step/optimizer'))); "

# Picture, page, dark, what is done first, the part of the page (none: from its top), how high at most.
SHOTS = (
    ("report", "run", False, "", None, 800),
    ("dark", "run", True, FORWARD, None, 780),
    ("kernels", "run", False, KERNEL, "kernels", 760),
    ("timeline", "run", False, GAP, "timeline", 700),
    ("roofline", "run", False, FORWARD, "roofline", 700),
    ("ranks", "ranks", False, "", "ranks", 626),
    ("diff", "graph", False, "change({region: regions.findIndex((r) => r.id === 'decode/step')}); ", None, 800),
)


def make_pages(folder):
    job = folder + "/job"
    subprocess.run([BUILD + "/tools/ranks_make", job, "slow_rank=3"], check=True, stdout=subprocess.DEVNULL)
    for name, (command, *inputs) in {**PAGES, "ranks": ("report", job)}.items():
        subprocess.run([SONDE, command, *inputs, "-f", "html", "-o", f"{folder}/{name}.html"], check=True, stdout=subprocess.DEVNULL)


def shoot(page, part, most, path):
    page.settle()
    box = page.js(f"""(() => {{ const b = {f"byId('{part}').getBoundingClientRect()" if part else "{top: -scrollY, height: document.documentElement.scrollHeight}"};
        return [b.top + scrollY, Math.min(b.height, {most})]; }})()""")
    clip = {"x": 0, "y": max(0, box[0] - 8), "width": WIDTH, "height": box[1] + 16 * bool(part), "scale": 1}
    picture = page.send("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
    with open(path, "wb") as to:
        to.write(base64.b64decode(picture))


def main():
    to = sys.argv[1] if len(sys.argv) > 1 else "docs/img"
    with tempfile.TemporaryDirectory() as folder:
        make_pages(folder)
        for name, page, dark, first, part, most in SHOTS:
            with Page(f"file://{folder}/{page}.html", width=WIDTH, height=1000, dark=dark) as shown:
                shown.js(first + "0")
                shown.settle()
                shoot(shown, part, most, f"{to}/{name}.png")
                size = os.path.getsize(f"{to}/{name}.png")
                print(f"{name}.png {size}", *shown.errors)
                if size > MOST_BYTES:
                    sys.exit(f"{name}.png has more than {MOST_BYTES} bytes")


if __name__ == "__main__":
    main()
