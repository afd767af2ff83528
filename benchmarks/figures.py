"""Write the figures of the records into README.md; nothing there is typed.

Run `python benchmarks/figures.py` after a benchmark; a test compares what stands in README.md with the records.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
START, END = "<!-- figures: written by benchmarks/figures.py -->\n", "<!-- /figures -->\n"


def load(name: str) -> dict[str, Any] | None:
    """The figures of a record, or None when it has not been made."""
    path = ROOT / "results" / f"{name}.json"
    figures: dict[str, Any] | None = json.loads(path.read_text())["figures"] if path.exists() else None
    return figures


def rows() -> list[tuple[str, str, str]]:
    """What, how much, and the command that measures it."""
    table: list[tuple[str, str, str]] = []
    if data := load("data"):
        windows, full = data["windows_as_views"], data["clouds_full"]
        command = "benchmarks/data.py"
        table += [
            (
                f"all windows of a {windows['series_mb']:.0f} MB series ({windows['windows_mb_if_copied']:,.0f} MB "
                "as copies)",
                f"{windows['windows_extra_mb']:.2f} MB more",
                command,
            ),
            ("`clouds`, 137 plants x 52,560 steps", f"{full['seconds']:.1f} s, {full['peak_mb']:.0f} MB", command),
            ("`import subcast`, start of Python included", f"{data['importing']['wall_s']:.2f} s", command),
        ]
    if retrieval := load("retrieval"):
        shape, grown = retrieval["metr_la_shape"], retrieval["growth"][-1]
        command = "benchmarks/retrieval.py"
        repeated, plain = shape["sliding_against_torch_repeated"], shape["sliding_against_torch_broadcast"]
        table += [
            ("one query of a whole test set, METR-LA shape", f"{shape['sliding_ms_a_query']:.3f} ms", command),
            (
                "against torch, eight queries at once (repeated as the published code does; plain broadcasting)",
                f"{repeated:,.0f}x; {plain:,.0f}x",
                command,
            ),
            ("against faiss, Lp", f"{shape['sliding_against_faiss']:,.0f}x", command),
            ("one query alone, against faiss, Lp", f"{shape['independent_against_faiss']:.0f}x", command),
            (
                f"one query among {grown['windows']:,} windows, 3 of 20 variables, exact",
                f"{grown['index_ms_a_query']:.0f} ms",
                command,
            ),
        ]
    if models := load("forecasters"):
        for row in models["cases"]:
            if row["model"] == "mtgnn":
                table.append(
                    (
                        f"MTGNN at the shape of {row['shape']}, against its plain formulation (forward; training step)",
                        f"{row['forward_ratio']:.1f}x; {row['step_ratio']:.1f}x",
                        "benchmarks/forecasters.py",
                    )
                )
    return table


def rendered() -> str:
    """The table as it stands in README.md."""
    lines = ["| what | measured | command |", "|---|---|---|"]
    lines += [f"| {what} | {measured} | `python {command}` |" for what, measured, command in rows()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Put the table into README.md."""
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(START)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{START}{rendered()}{END}{after}")


if __name__ == "__main__":
    main()
