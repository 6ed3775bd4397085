"""Who is audited: the judges that `--judges` or `--panel` name, as they sit in debates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maci.audit.judges.items import Batch
from maci.config import Config, load
from maci.errors import ConfigError, EvidenceError
from maci.judge.crit import Judge
from maci.llm.prices import FREE, no_price
from maci.panel import choose
from maci.panel.models import Models, open_judge
from maci.panel.seating import Choice
from maci.panel.spec import JudgeSpec, PanelSpec, is_reader, judges_of, names

__all__ = ["Bench", "bench_of", "settle"]


@dataclass(frozen=True, slots=True)
class Bench:
    """The judges, and the settings they judge under."""

    spec: PanelSpec
    """Without agents."""
    config: Config

    @property
    def judges(self) -> tuple[JudgeSpec, ...]:
        """Each with a name of its own."""
        return self.spec.judges or ()

    @property
    def paid(self) -> bool:
        """Whether a language model is among them."""
        return bool(self.spec.seated)


def settle(choice: Choice) -> Bench:
    """The judges of a choice; the reader judges where none are named."""
    panel = choose(choice.panel, None, choice.judges)
    if isinstance(panel, str) and panel != "readers":
        raise ConfigError(f"--panel {panel}: its judges say what the script says; name judges with --judges")
    spec = PanelSpec() if isinstance(panel, str) else panel
    judges = judges_of([JudgeSpec(model="reader")]) if spec.judges is None else spec.judges
    if not judges:
        raise ConfigError("--judges none: there is nobody to audit; name models, or `reader`")
    _, named = names((), judges)
    config = load(choice.profile, file=choice.config, sets=list(choice.sets), base=dict(spec.settings))
    return Bench(PanelSpec(name=spec.name, judges=named, models=spec.models), config)


def bench_of(bench: Bench, models: Models | None) -> Callable[[Batch], Sequence[Judge]]:
    """Batch → its judges: models are the same for all, readers those who know the batch's evidence."""
    opened = {
        seat.name: open_judge(seat, models, bench.config)
        for seat in bench.judges
        if models and not is_reader(seat.model)
    }
    if bench.config.budget.usd is not None and models is not None:
        for name in bench.spec.seated:
            if getattr(models.model(name), "price", FREE) is None:
                raise no_price(name)

    def seats(batch: Batch) -> Sequence[Judge]:
        readers = {}
        if any(is_reader(seat.model) for seat in bench.judges):
            readers = {judge.name: judge for judge in batch.readers()}
            if not readers:
                raise EvidenceError(
                    "the reader judges score what is cited, and these arguments cite nothing: add `spans` to the file, or name "
                    "models with --judges"
                )
        return [readers[seat.name] if is_reader(seat.model) else opened[seat.name] for seat in bench.judges]

    return seats
