"""The text layer of a PDF, page by page, through pypdf (extra ``pdf``)."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from maci.errors import install
from maci.evidence.documents import Unreadable

__all__ = ["page_texts"]


def page_texts(path: Path, note: Callable[[str], None]) -> Iterator[tuple[int, str]]:
    """(page number, text) of every page that can be read; ``note`` is told how many could not."""
    try:
        pypdf: Any = importlib.import_module("pypdf")
    except ImportError as error:
        raise Unreadable(f"PDF needs the package 'pypdf': {install('pdf')}") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    bad = 0
    try:
        with path.open("rb") as stream:
            reader = pypdf.PdfReader(stream)
            if reader.is_encrypted and not reader.decrypt(""):
                raise Unreadable("protected by a password: save a copy without one")
            for number in range(len(reader.pages)):
                try:
                    text = reader.pages[number].extract_text()
                except Exception:  # pypdf raises whatever a malformed page makes it trip over
                    bad += 1
                    continue
                yield number + 1, text
    except (Unreadable, OSError):
        raise
    except Exception as error:  # likewise for the file as a whole
        raise Unreadable(f"broken PDF: {error or type(error).__name__}") from error
    if bad:
        note(f"{bad} pages could not be read and were left out")
