"""What the page of a run over curated products holds, and that what others wrote stays text in it."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grounding.webagents.agenticshop.page.content import CurationPage, TaskDetail
from grounding.webagents.agenticshop.page.gather import gather_curation, outcome_of
from grounding.webagents.agenticshop.page.page import curation_page, render_curation, write_curation_page
from grounding.webagents.agenticshop.page.pictures import make_pictures, picture_order
from grounding.webagents.agenticshop.page.quotes import PageText, found_in, pieces_with, utf16_units
from grounding.webagents.agenticshop.page.words import link_of
from grounding.webagents.agenticshop.records import Curation, Segment
from webagents.agenticshop.page.runs import CHECKLIST, FAR, SIZE, parts, segment_png

HOSTILE = "</script><img src=x onerror=alert(1)>@data@<!-- <script> &lt; \u2028"
WORDS = st.text(st.sampled_from("aB \n\u00a0\u201c\u201d\u2019\u0130\u00df\U0001f600x"), max_size=40)


def data_of(html: str) -> tuple[CurationPage, list[TaskDetail]]:
    blocks = re.findall(r'<script type="application/json" id="([a-z0-9-]+)">(.*?)</script>', html, re.S)
    assert blocks[0][0] == "data"
    return msgspec.json.decode(blocks[0][1], type=CurationPage), [
        msgspec.json.decode(content, type=TaskDetail) for _, content in blocks[1:]
    ]


def test_rows_say_what_became_of_each_task(tmp_path: Path) -> None:
    page = gather_curation(**parts(tmp_path))
    assert [row.outcome for row in page.tasks] == [
        "some product pages",
        "some product pages",
        "error",
        "nothing curated",
    ]
    first = page.tasks[0]
    assert first.classes == ("product", "listing", "error")
    assert first.errors == ("irrelevant", "invalid")
    assert first.flags == ("no-evidence",)
    assert [judge.name for judge in page.judges] == ["rules", "looker"]
    # Three products, seven items each; a task without products has all of them, none satisfied.
    assert sum(share.n for share in first.shares[0].values()) == 21
    assert sum(share.k for share in page.tasks[2].shares[0].values()) == 0
    assert sum(share.n for share in page.tasks[2].shares[0].values()) == 21
    assert first.shares[0]["functional_requirements"].n == 6
    assert [place[:3] for place in map(msgspec.to_builtins, page.places)] == [
        ["explicit_title/U000/0", 0, 0],
        ["explicit_title/U000/1", 0, 1],
        ["explicit_title/U000/2", 0, 2],
        ["attribute_specific/U001/0", 1, 0],
        ["attribute_specific/U001/1", 1, 1],
        ["attribute_specific/U001/2", 1, 2],
    ]


def test_details_hold_evidence_and_verdicts(tmp_path: Path) -> None:
    detail = gather_curation(**parts(tmp_path)).details[0]
    product = detail.products[0]
    assert [one.counted for one in detail.products] == [True, True, True, False]
    assert detail.products[3].page_class == "not fetched"
    assert product.segments[0].full.startswith("evidence/")
    assert {fact.name: fact.text for fact in product.facts}["price and shipping"] == "39.80 EUR"
    price = next(fact for fact in product.facts if fact.name == "price")
    assert (price.source, price.quote) == ("json-ld", '"price": "34.90"')
    near, far = product.judgements[0].verdicts[0], product.judgements[0].verdicts[6]
    assert near.found is not None
    assert near.found.piece == 0
    # The quote has plain quotation marks where the page has curly ones, and stands after a letter of two units.
    units = product.text[0].text.encode("utf-16-le")
    assert units[2 * near.found.start : 2 * near.found.end].decode("utf-16-le") == "The “plain” Kettle"
    assert far.found is not None
    assert FAR in product.text[far.found.piece].text
    assert far.found.piece == 1
    assert product.text_more > 0
    assert product.judgements[0].verdicts[1].segment == 1
    assert detail.products[2].failure == ""
    assert ("no page", "error: no answer after 20 s") in [(one.name, one.text) for one in detail.products[2].page]


def test_places_outside_of_what_there_is_are_not_drawn(tmp_path: Path) -> None:
    made = parts(tmp_path, tasks=1)
    first = made["extractions"][0]
    assert first.page is not None
    bad = msgspec.structs.replace(first.page, segments=(Segment(file="../secret.png", size=SIZE, top_px=0),))
    made["extractions"] = [msgspec.structs.replace(first, page=bad), *made["extractions"][1:]]
    product = gather_curation(**made).details[0].products[0]
    assert product.segments[0].full == ""
    assert product.judgements[0].verdicts[1].segment is None


def test_the_last_record_of_a_step_counts(tmp_path: Path) -> None:
    made = parts(tmp_path, tasks=1)
    made["curations"] = [*made["curations"], Curation(step_id=made["tasks"][0].id, key="k", ended="gave up")]
    assert gather_curation(**made).tasks[0].outcome == "nothing curated"


@pytest.mark.parametrize(
    ("classes", "outcome"),
    [
        (["product"] * 3, "all product pages"),
        (["product"] * 2, "some product pages"),
        (["listing", "error"], "no product page"),
    ],
)
def test_outcomes(classes: list[str], outcome: str, tmp_path: Path) -> None:
    assert outcome_of(next(iter(parts(tmp_path, tasks=1)["curations"])), classes) == outcome
    assert outcome_of(None, []) == "missing"


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "https://", "x", "http://a\n.b", "http://["],
)
def test_only_addresses_of_the_web_are_links(url: str) -> None:
    assert link_of(url) == ""


@given(WORDS, WORDS, WORDS)
def test_a_quote_is_found_where_it_stands(before: str, quote: str, after: str) -> None:
    text = before + quote + after
    span = PageText(text).find(quote)
    if not quote.strip():
        assert span is None
        return
    assert span is not None
    start, end = span
    assert PageText(text[start:end]).find(quote) is not None
    pieces = pieces_with(text, [span], most=5)
    found = found_in(pieces, span)
    units = pieces[found.piece].text.encode("utf-16-le")
    assert units[2 * found.start : 2 * found.end].decode("utf-16-le") == text[start:end]
    assert utf16_units(text) == len(text.encode("utf-16-le")) // 2


def test_pieces_don_t_overlap_and_hold_the_beginning() -> None:
    text = "".join(chr(97 + place % 26) for place in range(9000))
    pieces = pieces_with(text, [(5100, 5110), (5300, 5320), (8000, 8001)])
    assert [(piece.at, len(piece.text)) for piece in pieces] == [(0, 5520), (7800, 401)]
    assert all(text[piece.at :].startswith(piece.text) for piece in pieces)


def test_pictures_keep_to_the_budget_and_say_what_is_wrong(tmp_path: Path) -> None:
    made = parts(tmp_path)
    names = picture_order(made["extractions"], made["judgements"])
    tops = [one.page.segments[0].file for one in made["extractions"] if one.page is not None and one.page.segments]
    assert names[: len(set(tops))] == tuple(dict.fromkeys(tops))
    all_of_them = make_pictures(
        names, lambda name: (tmp_path / "evidence" / name).read_bytes(), cache=tmp_path / "kept"
    )
    assert set(all_of_them.urls) == set(names)
    budget = sum(len(all_of_them.urls[name]) for name in names[:3]) + 10
    few = make_pictures(names, dict.fromkeys(names, b"").__getitem__, budget_bytes=budget, cache=tmp_path / "kept")
    assert set(few.urls) == set(names[:3])
    assert few.left_out == len(names) - 3
    broken = {"a.png": b"no picture", "b.png": segment_png(0, 0)[:2000], "../up.png": b""}
    wrong = make_pictures(list(broken), broken.__getitem__)
    assert (wrong.urls, len(wrong.problems)) == ({}, 3)


def test_nothing_that_is_said_is_markup(tmp_path: Path) -> None:
    html = render_curation(gather_curation(**parts(tmp_path, words=HOSTILE)))
    page, details = data_of(html)
    # The index, a block for each task, and the page's own script.
    assert (html.count("</script>"), len(details)) == (2 + 4, 4)
    assert "<img" not in html
    assert page.tasks[0].query == HOSTILE
    assert details[0].products[0].judgements[0].verdicts[0].reasoning == HOSTILE
    assert page.details == page.pictures == ()
    assert "default-src 'none'" in html


def test_a_picture_is_nothing_but_a_picture(tmp_path: Path) -> None:
    page = gather_curation(**parts(tmp_path), pictures={"a.png": "data:image/webp;base64,AA</script>"})
    with pytest.raises(ValueError, match="data URL"):
        render_curation(page)


def test_long_texts_are_cut_and_say_so(tmp_path: Path) -> None:
    detail = gather_curation(**parts(tmp_path, words="x" * 5000)).details[0]
    assert detail.situation.endswith("x … (2,000 characters more)")


def test_the_page_is_written_beside_the_evidence(tmp_path: Path) -> None:
    path = write_curation_page(tmp_path, **parts(tmp_path))
    html = path.read_text(encoding="utf-8")
    _, details = data_of(html)
    small = details[0].products[0].segments[0].small
    assert f'id="picture-{small}">data:image/webp;base64,' in html
    assert [one.id for one in details[0].checklist] == [item.id for item in CHECKLIST]
    assert {each.name for each in tmp_path.iterdir()} == {"evidence", "report.html"}


def test_a_page_that_fails_costs_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report.html").mkdir()
    assert curation_page(tmp_path, **parts(tmp_path)) is None
    assert "warning: no report.html was written" in capsys.readouterr().err
