"""What llama.cpp counted, by its own ``/metrics`` page."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Counters"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Since the model was loaded, all who share it together."""

    processed: int = 0
    """Prompt tokens the model had to read."""
    cached: int = 0
    """Prompt tokens it had read before: the prefix cache."""
    generated: int = 0
    prompt_seconds: float = 0.0
    """Time spent reading prompts."""
    generated_seconds: float = 0.0

    @classmethod
    def read(cls, page: str) -> Counters:
        r"""From the text of the page.

        >>> Counters.read("# TYPE x counter\nllamacpp:prompt_tokens_total 39\nllamacpp:prompt_tokens_cached_total 345")
        Counters(processed=39, cached=345, generated=0, prompt_seconds=0.0, generated_seconds=0.0)
        """
        found = {name: float(value) for name, value in re.findall(r"^llamacpp:(\w+) (\S+)$", page, re.MULTILINE)}
        return cls(
            processed=int(found.get("prompt_tokens_total", 0)),
            cached=int(found.get("prompt_tokens_cached_total", 0)),
            generated=int(found.get("tokens_predicted_total", 0)),
            prompt_seconds=found.get("prompt_seconds_total", 0.0),
            generated_seconds=found.get("tokens_predicted_seconds_total", 0.0),
        )

    @property
    def share(self) -> float | None:
        """The share of prompt tokens that came from the prefix cache; ``None`` before the first prompt.

        >>> Counters(processed=40, cached=60).share
        0.6
        """
        prompt = self.processed + self.cached
        return self.cached / prompt if prompt else None

    def __sub__(self, earlier: Counters) -> Counters:
        return Counters(
            processed=self.processed - earlier.processed,
            cached=self.cached - earlier.cached,
            generated=self.generated - earlier.generated,
            prompt_seconds=self.prompt_seconds - earlier.prompt_seconds,
            generated_seconds=self.generated_seconds - earlier.generated_seconds,
        )
