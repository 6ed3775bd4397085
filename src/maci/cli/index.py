"""``maci index``: documents of your own as evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maci.cli.options import OutputOptions, grouped
from maci.cli.output import echo, publish


@grouped
def index(
    *,
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files and folders: text, Markdown, logs, JSON, JSONL, CSV, HTML, PDF.", metavar="PATH…"),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the index; made or brought up to date.")] = Path("maci-index"),
    encoder: Annotated[
        str, typer.Option(help="Encoder to embed with: wordllama, minilm, arctic, st:MODEL, module:function.")
    ] = "wordllama",
    output: OutputOptions,
) -> None:
    """Turn documents into an evidence index for --corpus."""
    from maci.cli.terminal import ProgressBars
    from maci.evidence.corpus import Corpus, update_index
    from maci.evidence.encode import load_encoder
    from maci.evidence.retrieve import Retriever
    from maci.story.words import plural

    with ProgressBars(plain=output.plain, silent=output.silent) as progress:
        report = update_index(
            paths, out, progress=lambda source, done, total: progress.at("files read", done, total, line="")
        )
        retriever = Retriever.for_corpus(Corpus.open(out), load_encoder(encoder))
        retriever.warm(lambda done, total: progress.at("spans embedded", done, total, line=""))
    skipped = [{"path": str(item.path), "reason": item.reason} for item in report.skipped]
    counts = {name: getattr(report, name) for name in ("added", "changed", "unchanged", "removed", "spans")}
    for item in [] if output.json else skipped:
        echo(f"{item['path']}: {item['reason']}", err=True)
    lines = [
        f"{out}: {plural(report.spans, 'span')}; files: {report.added} new, {report.changed} changed, {report.unchanged} unchanged, "
        f"{report.removed} removed; {plural(len(skipped), 'note')} on what was left out",
        f"Use it with: maci debate CASE --corpus {out}",
    ]
    publish({**counts, "skipped": skipped, "index": str(out)}, [] if output.quiet else lines, json=output.json)
