"""The build steps: the description as a package index shows it, and the encoder's table in the wheel.

The wheel carries the encoder's table and vocabulary, taken from the package ``wordllama``.

That package and what it depends on (a tokenizer, clients of a model hub) are needed while the wheel is built, and not by those who
install it. The files are checked, so that vectors stay the ones that figures were measured with.
"""

from __future__ import annotations

import hashlib
import re
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

SHA256 = {
    "weights/l2_supercat_256.safetensors": "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    "tokenizers/l2_supercat_tokenizer_config.json": "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}


class WordLlama(BuildHookInterface):  # type: ignore[type-arg]
    """Adds ``maci_wordllama`` to the wheel, editable or not."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files, after checking them."""
        found = distribution("wordllama")
        into = build_data["force_include_editable" if version == "editable" else "force_include"]
        for name, expected in SHA256.items():
            file = Path(str(found.locate_file(f"wordllama/{name}")))
            if hashlib.sha256(file.read_bytes()).hexdigest() != expected:
                raise RuntimeError(
                    f"{file} is not the file that MACI was measured with: build with wordllama 0.4.0.post1"
                )
            into[str(file)] = f"maci_wordllama/{name}"
        for licence in found.files or ():
            if licence.name == "LICENSE":
                into[str(found.locate_file(licence))] = "maci_wordllama/LICENSE"


def described(readme: str, source: str | None) -> str:
    """The README for a package index, which has none of the files it links to.

    With the address of the source, links become absolute; without one they become text, and pictures are left out.

    >>> described("See [trust](docs/trust.md#risk).", "https://example.org/maci")
    'See [trust](https://example.org/maci/blob/main/docs/trust.md#risk).'
    >>> described("See [trust](docs/trust.md), [Python](https://python.org).", None)
    'See trust, [Python](https://python.org).'
    """

    def absolute(link: re.Match[str]) -> str:
        picture, text, target = link.groups()
        if re.match(r"\w+:|#", target):
            return link[0]
        if source is None:
            return "" if picture else text
        return f"{picture}[{text}]({source.rstrip('/')}/{'raw' if picture else 'blob'}/main/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", absolute, readme)


class Description(MetadataHookInterface):
    """The README as the long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set ``readme``; the address is `Source` of `[project.urls]`."""
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": described(readme, source)}
