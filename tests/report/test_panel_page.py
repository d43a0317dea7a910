import json
import math
import re
import shutil
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser

import pytest

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from orderbias.report.panel_figures import FIGURES, available, figure_files, figures, specification
from orderbias.report.panel_page import PageHead, embedded_json, panel_page
from orderbias.studies.findings import Column, Finding, Number, Table

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NASTY = '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">&amp;'
CHECKPOINTS = ("Elm-1B", "Elm-1B-it", "Fir-2B", NASTY)
BENCHMARKS = ("arc", "piqa", "race")
OPTIONS = {"arc": 4, "piqa": 2, "race": 10}


def cells():
    for i, checkpoint in enumerate(CHECKPOINTS):
        for j, benchmark in enumerate(BENCHMARKS):
            rate, skew = 0.15 + 0.2 * i + 0.03 * j, 0.05 + 0.04 * j + 0.01 * i
            yield {
                "checkpoint": checkpoint, "benchmark": benchmark, "n_options": OPTIONS[benchmark], "flip_rate": rate,
                "positional_skew": skew, "pooled_sd": rate * skew, "accuracy": 0.9 - 0.6 * rate,
            }  # fmt: skip


def factors():
    points = list(cells())
    marks = {0: "A", 7: "B"}
    columns = (
        Column("checkpoint", "Checkpoint", "text"), Column("benchmark", "Benchmark", "text"),
        Column("accuracy", "Accuracy", "percent"), Column("flip_rate", "Flip rate", "percent"),
        Column("positional_skew", "Skew"),
    )  # fmt: skip
    # In the file's order neither text nor numbers are sorted; one skew is undefined.
    rows = [tuple(p[c.key] for c in columns) for p in (*points[1::2], *points[0::2])]
    rows[3] = (*rows[3][:3], Number(0.5, 0.4, 0.6), None)
    correlations = Table(
        "correlations", "Correlations", (Column("options", "Options", "text"), Column("flip_rate", "Flip rate")),
        (("all", Number(-0.9, -1, -0.5)),), "cells", source="two-factors, Figure 3",
    )  # fmt: skip
    names = ("flip_rate", "pooled_sd", "positional_skew")
    series = {
        "factor_plane": tuple({**p, "mark": marks.get(i)} for i, p in enumerate(points)),
        "iso_pooled_sd": tuple(
            {"pooled_sd": 0.02, "flip_rate": x / 10, "positional_skew": 0.2 / x} for x in range(1, 11)
        ),
        "against_accuracy": tuple({**p, "statistic": name, "value": p[name]} for name in names for p in points),
    }
    tables = (Table("cells", "Every cell <b>", columns, tuple(rows)), correlations)
    return Finding("factors", "How often & how unevenly?", tables, series, (f"It falls for {NASTY}.",))


def changes(low=-0.1):
    return {"low": low, "high": 0.1}


def others():
    prior = tuple(
        {"alpha": a, "prior": prior, "measure": m, "value": -a, **changes(-1.2)}
        for a in (0.5, 1.0) for prior in ("estimated", "letters permuted") for m in ("log_skew", "log_flip_rate")
    )  # fmt: skip
    moved = tuple(
        {f"{key}{end}": value + shift for key, value in (("log_flip_rate", x), ("log_positional_skew", y))
         for end, shift in (("", 0.0), ("_low", -0.1), ("_high", 0.1))} | {"operation": operation}
        for operation, x, y in (("pride", -0.1, -0.9), ("reversal-product", -0.6, -0.4), (f"x>{NASTY}", -0.1, -0.92))
    )  # fmt: skip
    added = tuple(
        {"operation": o, "shape": s, "strength": a, "placement_range": abs(a) / 4, "low": abs(a) / 5 if a else None,
         "high": abs(a) / 3 if a else None}
        for o in ("none", "pride") for s in ("front-to-back", "alternating", "outer-inner") for a in (-1.0, 0.0, 1.0)
    )  # fmt: skip
    gaps = tuple(
        {"gap_low": b / 4, "gap_high": (b + 1) / 4, "stable_correct": b / 5, "flipping": 0.9 - b / 5,
         "stable_wrong": 0.1, "n_cells": 12, "n_items": 100}
        for b in range(4)
    )  # fmt: skip
    null = tuple(
        {"options": o, "subset": s, "n_cells": 9, "observed": -0.8, "null_median": 0.0, "null_low": -0.4,
         "null_high": 0.4, "p": 0.01}
        for o in ("all", "4") for s in ("all", "cap one")
    )  # fmt: skip
    trained = tuple(
        {"base": "Elm-1B", "post_trained": "Elm-1B-it", "benchmark": b, "n_items": 200,
         "pooled_sd_change": 0.01 - j / 90, "flip_rate_change": -0.02 * j - 0.01, "resolved": bool(j),
         "opposite": not j}
        for j, b in enumerate(BENCHMARKS)
    )  # fmt: skip
    made = (
        ("prior", {"dividing-out": prior}), ("operations", {"factor-changes": moved, "added-preferences": added}),
        ("margin", {"states-by-gap": gaps}), ("controls", {"cap_null": null}), ("pairs", {"post-training": trained}),
    )  # fmt: skip
    return [Finding(name, f"About {name}?", series=series) for name, series in made]


FINDINGS = (
    factors(),
    *others(),
    Finding("all-orderings", "All orderings?", skipped="needs K! orderings; there are 0."),
)
HEAD = PageHead(f"A panel {NASTY}", (("cells", "12"), ("signature", "data:1|seed:0")), ("Fir on arc: too few items.",))


@pytest.fixture(scope="module")
def page_text():
    return panel_page(FINDINGS, HEAD)


def test_every_figure_whose_points_there_are_is_drawn_and_no_other():
    assert list(figures(FINDINGS)) == [figure.name for figure in FIGURES]
    assert list(figures([factors()])) == ["figure-3-factors"]
    assert list(figures([replace(factors(), series={"factor_plane": ()})])) == []
    assert figures([FINDINGS[-1]]) == {}


def test_every_figure_is_of_the_schema():
    for chart in figures(FINDINGS).values():
        assert chart.to_dict(validate=True)["$schema"].startswith("https://vega.github.io/schema/vega-lite/")


def test_figure_3_is_drawn_without_golds():
    without = tuple({**p, "accuracy": None} for p in factors().series["factor_plane"])
    finding = Finding("factors", "F", series={"factor_plane": without, "iso_pooled_sd": (), "against_accuracy": ()})
    files = figure_files(figures([finding]))
    assert files["figure-3-factors.svg"].count(b'aria-roledescription="point"') >= 12


def test_changes_of_figure_9_are_points_and_a_zero_has_no_direction():
    labels = {"base": "a", "post_trained": "b", "benchmark": "c", "n_items": 5, "resolved": True}
    changes = ((0.1, -0.2, True), (0.1, 0.0, False), (0.1, 0.3, False))
    series = tuple(
        {**labels, "pooled_sd_change": sd, "flip_rate_change": flips, "opposite": opposite}
        for sd, flips, opposite in changes
    )
    finding = Finding("pairs", "P", series={"post-training": series})
    text = json.dumps(specification(figures([finding])["figure-9-post-training"]))
    points = re.findall(r'"way": "([^"]*)", "flip_rate_points": ([-.0-9]+)', text)
    assert points == [("opposite ways", "-20.0"), ("one does not change", "0.0"), ("the same way", "30.0")]
    assert "change in flip rate (points)" in text


def test_no_two_ticks_of_figure_9_have_one_label():
    point = {"base": "a", "post_trained": "b", "benchmark": "c", "n_items": 5, "resolved": True, "opposite": True,
             "pooled_sd_change": -0.0404, "flip_rate_change": 0.02}  # fmt: skip
    finding = Finding("pairs", "P", series={"post-training": (point,)})
    drawn = figure_files(figures([finding]))["figure-9-post-training.svg"].decode()
    for axis in ("X-axis", "Y-axis"):
        group = drawn[drawn.index(f'aria-label="{axis}') :]
        labels = re.findall(r"<text[^>]*>([^<]*)</text>", group[: group.index("role-axis-title")])
        assert len(labels) > 3
        assert len(set(labels)) == len(labels)


def test_more_points_than_altair_lets_pass_by_default_are_drawn():
    many = tuple({**p, "mark": None} for p in cells()) * 417
    finding = Finding("factors", "F", series={"factor_plane": many, "against_accuracy": ()})
    assert len(figures([finding])["figure-3-factors"].to_dict(validate=False)["layer"][-1]["data"]["values"]) == 5004


def everywhere(change):
    """The findings with every number of their points changed but those that say where a point is."""
    fixed = ("strength", "alpha", "gap_low", "gap_high")

    def changed(point):
        return {key: change(key, x) if isinstance(x, float) and key not in fixed else x for key, x in point.items()}

    return [
        replace(finding, series={key: tuple(map(changed, points)) for key, points in finding.series.items()
                                 if key != "iso_pooled_sd"})
        for finding in FINDINGS
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        lambda key, x: None if key.endswith(("low", "high")) else x,  # one checkpoint: no intervals
        lambda key, x: 0.0,  # nothing flips
    ],
    ids=["no intervals", "zero"],
)
def test_figures_of_numbers_that_are_not_there(change):
    files = figure_files(figures(everywhere(change)))
    for figure in FIGURES:
        content = files[f"{figure.name}.svg"]
        assert b"NaN" not in content
        # Nothing stands outside of the axes but the long name of an operation.
        assert float(ElementTree.fromstring(content).get("width")) < 1000


def test_what_is_undefined_everywhere_has_no_figure():
    assert figures(everywhere(lambda key, x: math.nan)) == {}


@pytest.mark.parametrize(("figure", "finding"), available(FINDINGS), ids=lambda x: x.name)
def test_files_of_a_figure_are_whole_and_on_white(figure, finding):
    files = figure_files({figure.name: figure.draw(finding)})
    svg, png, pdf = (files[f"{figure.name}.{suffix}"] for suffix in ("svg", "png", "pdf"))
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    assert root.find("{http://www.w3.org/2000/svg}rect").get("fill") == "white"
    assert not root.findall(".//{http://www.w3.org/2000/svg}script")
    assert png.startswith(b"\x89PNG")
    assert pdf.startswith(b"%PDF")


def lightness(colour):
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2


def test_series_differ_in_shape_or_lightness_too():
    from orderbias.report.figure_style import COLOURS, SHAPES
    from orderbias.report.mean_figures import STATE_COLOURS

    assert len(set(COLOURS)) == len(COLOURS) == len(SHAPES) == len(set(SHAPES))
    dark, middle, light = map(lightness, STATE_COLOURS)  # stacked bars have no shape
    assert middle - dark > 0.2
    assert light - middle > 0.1


class Tags(HTMLParser):
    """The elements of a page with their attributes, as a browser reads them."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_names_are_text_in_the_page(page_text):
    assert NASTY not in page_text
    tags = Tags(page_text).found
    assert [tag for tag, _ in tags].count("script") == 3  # the specifications, the library, the page's own
    assert "img" not in {tag for tag, _ in tags}
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]


def test_the_page_names_no_address_that_it_would_ask(page_text):
    attributes = [pair for _, attributes in Tags(page_text).found for pair in attributes.items()]
    assert all(value.startswith("#") for name, value in attributes if name in ("href", "src", "action", "data"))
    style = re.search(r"<style>(.*?)</style>", page_text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(a["content"] for tag, a in Tags(page_text).found if a.get("http-equiv"))
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    assert re.fullmatch(r"('sha256-[\w+/=]+' ?){2}", rules["script-src"])


def test_the_library_is_in_the_page_once(page_text):
    assert page_text.count("window.vegaEmbed=") == 1
    assert len(page_text) < 1_500_000


def test_what_was_skipped_is_listed_with_its_reason(page_text):
    assert re.search(r"<dt>All orderings\?</dt><dd>needs K! orderings; there are 0\.</dd>", page_text)
    assert 'id="all-orderings"' not in page_text


def test_the_contents_lead_to_every_part(page_text):
    targets = re.findall(r'<a href="#([^"]+)"', page_text)
    assert targets == ["factors", "prior", "operations", "margin", "controls", "pairs", "not-done"]
    assert all(f'id="{target}"' in page_text for target in targets)


def test_a_page_without_figures_or_cells():
    text = panel_page([Finding("a", "A?", skipped="needs more.")], PageHead("Empty"))
    assert "<form" not in text
    assert "needs more." in text


def test_embedded_json_is_the_same_value():
    value = {"a": NASTY, "b": [1.5, None, True]}
    assert json.loads(embedded_json(value)) == value
    assert "<" not in embedded_json(value)


# In a browser


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")
    if CHROMIUM is None:
        pytest.skip("needs chromium on the path: apt-get install chromium")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


SIZE = {"width": 1280, "height": 1000}
#: Of figure 3: the plane with two rings, and three statistics.
ALL_POINTS = 4 * 12 + 2


class Opened:
    """A page in a browser without network, with all that it said and asked for."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(viewport=SIZE, **options)
        self.context.set_offline(True)
        self.said, self.asked = [], []
        self.context.route(re.compile(r"^(?!file:|data:|blob:)"), lambda route: route.abort())
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("body[data-drawn]", timeout=30_000)
        self.own = path.as_uri()

    def points(self, figure):
        return self.page.locator(f"[data-figure={figure}] svg path[aria-roledescription=point]")

    def wait_for_points(self, figure, n):
        from playwright.sync_api import expect

        expect(self.points(figure)).to_have_count(n, timeout=30_000)


@pytest.fixture(scope="module")
def opened_once(browser, page_text, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_text, encoding="utf-8")
    found = Opened(browser, path)
    yield found
    found.context.close()


@pytest.fixture
def opened(opened_once):
    """The page as it is when it is opened: drawn once, as that takes a second."""
    opened_once.page.set_viewport_size(SIZE)
    opened_once.page.click("#filter button[type=reset]")
    opened_once.wait_for_points("figure-3-factors", ALL_POINTS)
    opened_once.page.mouse.move(0, 0)
    yield opened_once
    outside = [url for url in opened_once.asked if url != opened_once.own and not url.startswith(("data:", "blob:"))]
    assert opened_once.said == []
    assert outside == []


def test_every_figure_has_marks(opened):
    assert opened.page.locator("[data-figure]").count() == len(FIGURES)
    for figure in FIGURES:
        n_marks = opened.page.locator(f"[data-figure={figure.name}] svg [aria-roledescription]").count()
        assert n_marks > 8, figure.name
    assert opened.page.evaluate("window.hacked") is None


def test_a_tooltip_names_the_cell(opened):
    point = opened.points("figure-3-factors").first
    point.scroll_into_view_if_needed()
    point.hover(force=True)
    tip = opened.page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    text = tip.inner_text()
    assert "checkpoint" in text
    assert "Elm-1B" in text
    assert "benchmark" in text
    assert "arc" in text
    assert "15.0%" in text


def test_a_tooltip_of_a_hostile_name_is_text(opened):
    points = opened.points("figure-3-factors")
    at = 2 + 10  # after the rings of A and B
    points.nth(at).scroll_into_view_if_needed()
    points.nth(at).hover(force=True)
    tip = opened.page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert "<script>window.hacked" in tip.inner_text()
    assert opened.page.evaluate("window.hacked") is None


def shown_rows(opened, table="factors-cells"):
    return opened.page.locator(f"#{table} tbody tr:visible")


def test_the_filter_hides_points_and_rows_everywhere(opened):
    page = opened.page
    assert opened.points("figure-3-factors").count() == ALL_POINTS
    assert opened.points("figure-9-post-training").count() == 3
    assert shown_rows(opened).count() == 12
    page.fill("#filter [name=checkpoint]", "Elm-1B")  # a whole name is that name alone
    opened.wait_for_points("figure-3-factors", 4 * 3 + 1)
    assert shown_rows(opened).count() == 3
    assert page.locator("#filter output").inner_text() == "1 of 4 checkpoints"
    page.fill("#filter [name=checkpoint]", "elm, fir")  # parts of names
    page.fill("#filter [name=benchmark]", "piqa")
    opened.wait_for_points("figure-9-post-training", 1)
    assert shown_rows(opened).count() == 3
    page.fill("#filter [name=checkpoint]", "no such")
    assert shown_rows(opened).count() == 0
    page.click("#filter button[type=reset]")
    opened.wait_for_points("figure-3-factors", ALL_POINTS)
    assert shown_rows(opened).count() == 12


def test_a_click_on_a_head_sorts_and_the_undefined_stay_last(opened):
    page = opened.page

    def column(at):
        return page.eval_on_selector_all(
            f"#factors-cells tbody tr td:nth-child({at})", "all => all.map(x => x.dataset.v)"
        )

    rates = [float(v) for v in column(4)]
    assert rates != sorted(rates)
    page.click("#factors-cells th:nth-child(4) button")
    assert [float(v) for v in column(4)] == sorted(rates)
    page.click("#factors-cells th:nth-child(4) button")
    assert [float(v) for v in column(4)] == sorted(rates, reverse=True)
    for _ in range(2):
        page.click("#factors-cells th:nth-child(5) button")
        assert column(5)[-1] is None
        assert None not in column(5)[:-1]
    page.click("#factors-cells th:nth-child(1) button")
    names = page.eval_on_selector_all("#factors-cells tbody tr td:nth-child(1)", "all => all.map(x => x.textContent)")
    assert names == sorted(names, key=lambda name: (name != NASTY, name))


def test_a_long_table_can_be_searched(browser, tmp_path):
    columns = (Column("checkpoint", "Checkpoint", "text"), Column("x", "x"))
    table = Table("long", "Long", columns, tuple((f"Model-{i}", float(i)) for i in range(40)))
    path = tmp_path / "long.html"
    path.write_text(panel_page([Finding("f", "F", (table,))], PageHead("Long")), encoding="utf-8")
    found = Opened(browser, path)
    found.page.fill("#f-long input.rows", "model-3")
    assert shown_rows(found, "f-long").count() == 11
    assert found.page.locator("#f-long .shown").inner_text() == "11 of 40 rows"
    found.page.fill("#filter [name=checkpoint]", "Model-3")
    assert shown_rows(found, "f-long").count() == 1
    found.context.close()
    assert found.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_light_dark_and_print(browser, page_text, tmp_path, scheme):
    path = tmp_path / "page.html"
    path.write_text(page_text, encoding="utf-8")
    found = Opened(browser, path, color_scheme=scheme)

    def contrast(selector):
        of = "element => {const s = getComputedStyle(element); return [s.fill, s.color]}"
        paper = found.page.evaluate("getComputedStyle(document.body).backgroundColor")
        fill, colour = found.page.locator(selector).first.evaluate(of)
        ink = fill if "svg" in selector else colour
        a, b = sorted(
            lightness("#" + "".join(f"{int(n):02x}" for n in re.findall(r"\d+", c)[:3])) for c in (paper, ink)
        )
        return (b + 0.05) / (a + 0.05)

    words = ("main p, main li", "[data-figure=figure-4-dividing-out] svg .role-axis-label text",
             "[data-figure=figure-4-dividing-out] svg .role-axis-title text", "td small", ".under")  # fmt: skip
    assert min(map(contrast, words)) > 4.5
    found.page.emulate_media(media="print")
    assert found.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert min(map(contrast, words)) > 4.5
    assert not found.page.locator("#filter").is_visible()
    found.context.close()


def test_a_narrow_window_scrolls_figures_and_tables_but_not_the_page(opened):
    opened.page.set_viewport_size({"width": 390, "height": 800})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_policy_lets_no_other_script_run(browser, page_text, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page_text.replace("</main>", "<script>window.hacked = 1</script></main>"), encoding="utf-8")
    found = Opened(browser, path)
    assert found.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in said for said in found.said)
    found.context.close()
