"""Draw `shared/docs/images/fusion.svg`: two ranked lists and what reciprocal rank fusion makes of them.

The lists are examples; the fused order and its figures come from the fusion itself.

    python shared/tools/draw_fusion.py shared/docs/images/fusion.svg
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from ovos_memory.core.fusion import RankedList, rrf
from ovos_memory.core.types import MemoryHit

K = 60
MEANING = ["Our heating is out again", "The boiler man is Mr Berg", "It is cold in the hall", "Tea at four"]
WORDS = ["Mr Berg's dog is called Rex", "The boiler man is Mr Berg", "Tea at four", "Berg means mountain"]
ROW, WIDTH, GAP, TOP = 44, 260, 110, 76
COLOURS = ["#00897b", "#5e35b1", "#ef6c00", "#546e7a", "#c62828", "#827717"]
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #263238 }
  .head { font-weight: 600; font-size: 15px } .small { font-size: 12px; fill: #546e7a }
  .box { fill: #fff; stroke-width: 1.5 } .line { fill: none; stroke-width: 2; opacity: .75 }
  @media (prefers-color-scheme: dark) { text { fill: #eceff1 } .small { fill: #b0bec5 } .box { fill: #263238 } }
"""


def main(path: Path) -> None:
    """Write the drawing."""
    path.write_text(draw(), encoding="utf-8")


def draw() -> str:
    """Return the drawing as SVG."""
    fused = rrf([_ranked("meaning", MEANING), _ranked("words", WORDS)], k=K)
    columns = [0, WIDTH + GAP, 2 * (WIDTH + GAP)]
    height = TOP + ROW * len(fused) + 24
    width = columns[2] + WIDTH
    texts = list(dict.fromkeys(MEANING + WORDS))
    colour = {text: COLOURS[number % len(COLOURS)] for number, text in enumerate(texts)}
    order = [hit.content for hit in fused]
    parts = [
        *_links(MEANING, order, columns[0] + WIDTH, columns[1], colour),
        *_links(WORDS, order, columns[2], columns[1] + WIDTH, colour),
        *_column(columns[0], "found by meaning", "cosine, 0 to 1", [(t, "") for t in MEANING], colour),
        *_column(columns[2], "found by words", "BM25, no upper end", [(t, "") for t in WORDS], colour),
        *_column(columns[1], "fused", f"sum of 1 / ({K} + rank)", [_fused(hit) for hit in fused], colour),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 0 {width + 4} {height}" role="img" '
        f'aria-label="Two ranked lists and the fused one">\n<style>{STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _ranked(member: str, texts: list[str]) -> RankedList:
    return RankedList(member, [MemoryHit(text) for text in texts])


def _fused(hit: MemoryHit) -> tuple[str, str]:
    ranks = [found["rank"] for found in hit.metadata["retrievers"].values()]
    return (
        hit.content,
        f"{' + '.join(f'1/{K + rank}' for rank in ranks)} = {hit.metadata['fusion_score']:.4f}",
    )


def _column(
    left: int, head: str, scale: str, rows: list[tuple[str, str]], colour: dict[str, str]
) -> Iterator[str]:
    yield f'<text class="head" x="{left}" y="24">{escape(head)}</text>'
    yield f'<text class="small" x="{left}" y="44">{escape(scale)}</text>'
    for place, (text, figures) in enumerate(rows):
        top = TOP + ROW * place - 14
        yield (
            f'<rect class="box" x="{left}" y="{top}" width="{WIDTH}" height="{ROW - 8}" rx="6" '
            f'stroke="{colour[text]}"/>'
        )
        base = top + (15 if figures else 23)
        yield f'<text x="{left + 10}" y="{base}">{place + 1}. {escape(text)}</text>'
        if figures:
            yield f'<text class="small" x="{left + 10}" y="{base + 15}">{escape(figures)}</text>'


def _links(texts: list[str], order: list[str], start: int, end: int, colour: dict[str, str]) -> Iterator[str]:
    middle = (start + end) / 2
    for place, text in enumerate(texts):
        one, other = (TOP + ROW * number - 14 + (ROW - 8) / 2 for number in (place, order.index(text)))
        yield (
            f'<path class="line" stroke="{colour[text]}" '
            f'd="M{start} {one:g} C{middle:g} {one:g} {middle:g} {other:g} {end} {other:g}"/>'
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
