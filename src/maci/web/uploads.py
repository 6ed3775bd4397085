"""Files that visitors send, and those kept for them while they fill in a form again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from secrets import token_urlsafe
from time import monotonic

from maci.errors import InputError, concerning
from maci.web.server import Limits


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent."""

    name: str
    data: bytes

    @property
    def suffix(self) -> str:
        """Its kind, by its name."""
        return PurePath(self.name.replace("\\", "/")).suffix.lower()

    @property
    def plain_name(self) -> str:
        """Its name without folders or characters that could mean something."""
        name = PurePath(self.name.replace("\\", "/")).name
        return re.sub(r"[^\w. ()-]+", "_", name)[:80] or "file"


Files = Mapping[str, Sequence[Upload]]
"""Files by the field they were sent in."""


_ENTRIES = 1000
"""Forms whose files are kept at the most, however small."""


class Kept:
    """Files that came with forms which had to be shown again: nobody has to choose them twice. In memory, within limits."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._kept: dict[str, tuple[float, str, Files]] = {}

    def keep(self, session: str, files: Files) -> str:
        """Keep a visitor's files for a while; the word by which they are found again."""
        word = token_urlsafe(12)
        self._kept[word] = (self._clock() + self._limits.kept_seconds, session, files)
        self._forget()
        return word

    def files(self, session: str, form: Mapping[str, str]) -> Files:
        """The files that a form still wants; raises where they are no longer here."""
        self._forget()
        _, owner, files = self._kept.get(form.get("kept", ""), (0.0, "", {}))
        every = [(name, upload) for name, uploads in files.items() for upload in uploads] if owner == session else []
        wanted = {int(name[5:]) for name in form if re.fullmatch(r"kept_[0-9]{1,3}", name)}
        if any(number >= len(every) for number in wanted):
            with concerning("files"):
                raise InputError("the files that you sent before are no longer kept: choose them again")
        chosen = [every[number] for number in sorted(wanted)]
        return {name: [upload for field, upload in chosen if field == name] for name in files}

    def _forget(self) -> None:
        """Let go of what is old, and of the oldest where there is too much."""
        now = self._clock()
        self._kept = {word: entry for word, entry in self._kept.items() if entry[0] > now}
        while len(self._kept) > _ENTRIES or sum(map(_size, self._kept.values())) > self._limits.kept:
            del self._kept[next(iter(self._kept))]


def _size(entry: tuple[float, str, Files]) -> int:
    return sum(len(upload.data) for uploads in entry[2].values() for upload in uploads)


def together(sent: Files, kept: Files) -> dict[str, list[Upload]]:
    """Files that were sent now and before; a case has one file, the newest."""
    names = dict.fromkeys([*kept, *sent])
    both = {name: [*kept.get(name, ()), *sent.get(name, ())] for name in names}
    return {name: uploads[-1:] if name == "case_file" else uploads for name, uploads in both.items() if uploads}
