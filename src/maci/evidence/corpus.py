"""Corpora: the spans a debate may retrieve and cite.

A corpus is made in memory (of spans, or by ``read``) or opened from an index folder that
:func:`update_index` keeps in step with files on disk (``open``). Equal text has one id, so it is one span
however many files repeat it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from maci.errors import EvidenceError
from maci.evidence.documents import SUFFIXES, ReadOptions, Unreadable, read_document
from maci.evidence.index import Index, IndexReport, Progress, Skipped
from maci.evidence.span import Span

_PASSED_OVER = frozenset({"__pycache__", "node_modules"})


class Corpus:
    """An immutable set of spans with unique ids.

    >>> corpus = Corpus([Span.of("High fever."), Span.of("high  fever."), Span.of("Rash.")])
    >>> len(corpus), corpus.get("s-0000000000")
    (2, None)
    """

    def __init__(
        self,
        spans: Iterable[Span],
        *,
        skipped: Sequence[Skipped] = (),
        home: Path | None = None,
    ) -> None:
        self._by_id: dict[str, Span] = {}
        for span in spans:
            known = self._by_id.setdefault(span.id, span)
            if known.label is None and span.label is not None:
                self._by_id[span.id] = replace(known, label=span.label)
        self._spans = tuple(self._by_id.values())
        self.skipped = tuple(skipped)
        """What was left out when the corpus was read."""
        self.home = home
        """The index folder it was opened from, where a retriever may keep its own files."""

    @property
    def spans(self) -> Sequence[Span]:
        """All spans, in order of source and position."""
        return self._spans

    def get(self, id: str) -> Span | None:
        """The span of this id; ``None`` if there is none (a citation to it is rejected, not an error)."""
        return self._by_id.get(id)

    def __len__(self) -> int:
        return len(self._spans)

    def __iter__(self) -> Iterator[Span]:
        return iter(self._spans)

    @classmethod
    def read(cls, *paths: str | Path, options: ReadOptions | None = None) -> Corpus:
        """The spans of files and folders, read now and kept in memory; an index folder is opened instead."""
        if len(paths) == 1 and is_index(Path(paths[0])):
            return cls.open(paths[0])
        spans: list[Span] = []
        skipped: list[Skipped] = []
        for path, source in find_files(paths):
            kept = len(spans)
            try:
                notes: list[str] = []
                spans += read_document(path, source, options or ReadOptions(), notes.append)
                skipped += [Skipped(str(path), note) for note in notes]
            except Unreadable as error:
                del spans[kept:]
                skipped.append(Skipped(str(path), str(error)))
        if not spans:
            raise _empty([str(path) for path in paths], skipped)
        return cls(spans, skipped=skipped)

    @classmethod
    def open(cls, folder: str | Path) -> Corpus:
        """The corpus of an index folder that :func:`update_index` made."""
        with Index(Path(folder), create=False) as index:
            corpus = cls(index.spans(), skipped=index.skipped(), home=Path(folder))
        if not len(corpus):
            raise _empty([str(folder)], corpus.skipped)
        return corpus


def update_index(
    paths: Iterable[str | Path],
    folder: str | Path,
    *,
    options: ReadOptions | None = None,
    progress: Progress | None = None,
) -> IndexReport:
    """Bring an index folder in step with files and folders on disk; made if it is not there.

    Unchanged files are not read again, files that are gone are dropped, unreadable files are listed. Files
    that an earlier call indexed from elsewhere stay while they exist. ``EvidenceError`` if nothing usable
    is left.
    """
    roots = [Path(path) for path in paths]
    if inside := next((root for root in roots if root.resolve().is_relative_to(Path(folder).resolve())), None):
        raise EvidenceError(
            f"the evidence {str(inside)!r} lies in the index folder {str(folder)!r}: choose another --out"
        )
    found = [(path, source) for path, source in find_files(roots) if not path.is_relative_to(Path(folder).resolve())]
    with Index(Path(folder), create=True) as index:
        report = index.update(found, roots, options or ReadOptions(), progress)
    if not report.spans:
        raise _empty([str(path) for path in roots], report.skipped)
    return report


def is_index(path: Path) -> bool:
    """Whether a folder is an index that :func:`update_index` made."""
    return (path / "index.sqlite").is_file()


def find_files(paths: Iterable[str | Path]) -> Iterator[tuple[Path, str]]:
    """(file, source) for every file under the paths, in a stable order; hidden ones, pipes and links out of a folder are passed over.

    The source is the path from the folder that was named, so it does not depend on where that folder lies.
    """
    seen: set[Path] = set()
    for named in map(Path, paths):
        root = named.resolve()
        if not root.exists():
            raise EvidenceError(f"evidence path {str(named)!r} does not exist: name a file or folder")
        for path in sorted(_walk(root)) if root.is_dir() else [root]:
            if path not in seen:
                seen.add(path)
                yield path, path.relative_to(root.parent).as_posix()


def _walk(root: Path) -> Iterator[Path]:
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [
            name for name in subfolders if not (name in _PASSED_OVER or name[0] == "." or is_index(Path(folder, name)))
        ]
        paths = (Path(folder, name) for name in names if not name.startswith("."))
        yield from (path for path in paths if _belongs(path, root))


def _belongs(path: Path, root: Path) -> bool:
    """Neither a pipe nor a link that leads out of the folder; what is gone is said later."""
    return not path.exists() or (path.is_file() and path.resolve().is_relative_to(root))


def _empty(paths: Sequence[str], skipped: Sequence[Skipped]) -> EvidenceError:
    reasons = "".join(f"\n  {skip}" for skip in skipped[:5])
    more = f"\n  … and {len(skipped) - 5} more" if len(skipped) > 5 else ""
    return EvidenceError(
        f"no usable evidence in {', '.join(paths)}: add files of type {' '.join(SUFFIXES)} that hold text"
        + (f"; {len(skipped)} were left out:{reasons}{more}" if skipped else "")
    )
