"""Everything that makes up a simulated CLI, put together for whichever host runs it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..wire import AUTO, DIALECTS, MODERN
from .engine import Engine, Scenario
from .flags import Exit as Refusal
from .flags import parse
from .personas import LATEST, Persona, persona
from .state import Session
from .store import SessionStore

if TYPE_CHECKING:
    from .faults import Fault

__all__ = ["Refusal", "Simulation"]


class Simulation(NamedTuple):
    """How a simulated CLI behaves, whatever it is called with.

    Attributes:
        scenario: what the agent does; None for the demo agent, which really works on files.
        version: the CLI version to play, one of `PERSONAS`.
        dialect: the dialect to speak, `modern` being that of the real CLI, or `auto` to speak as
            the SDK does.
        faults: what goes wrong.
    """

    scenario: Scenario | None = None
    version: str = LATEST.version
    dialect: str = MODERN.name
    faults: Sequence[Fault] = ()

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Simulation:
        """Read the environment of the executable: its command line belongs to the SDK.

        `CLAUDEWIRE_SIM_SCENARIO` a TOML file, or `file.py:function`; `CLAUDEWIRE_SIM_VERSION`;
        `CLAUDEWIRE_SIM_DIALECT`; `CLAUDEWIRE_SIM_FAULTS` as `parse_faults` understands it.

        Raises:
            ValueError: one of them makes no sense.
        """
        scenario: Scenario | None = None
        faults: tuple[Fault, ...] = ()
        if env.get("CLAUDEWIRE_SIM_SCENARIO"):
            from .scenario import load_scenario

            scenario = load_scenario(env["CLAUDEWIRE_SIM_SCENARIO"])
        if env.get("CLAUDEWIRE_SIM_FAULTS"):
            from .faults import parse_faults

            faults = parse_faults(env["CLAUDEWIRE_SIM_FAULTS"])
        version = env.get("CLAUDEWIRE_SIM_VERSION") or LATEST.version
        dialect = env.get("CLAUDEWIRE_SIM_DIALECT") or MODERN.name
        if dialect not in (AUTO, *DIALECTS):
            known = ", ".join([AUTO, *DIALECTS])
            raise ValueError(f"There is no dialect {dialect!r}; there are {known}")
        return cls(scenario, persona(version).version, dialect, faults)

    def engine(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        clock: Callable[[], float],
    ) -> Engine | Refusal:
        """Start it as a process is started; a `Refusal` if the command line is not accepted."""
        plays: Persona = persona(self.version)
        flags = parse(argv, version=plays.version)
        if isinstance(flags, Refusal):
            return flags
        store = _store(env, cwd, enabled=not flags.no_session_persistence)
        session = Session(flags, persona=plays, cwd=cwd, env=env, store=store)
        return Engine(
            session,
            self.scenario or _demo(),
            dialect=self.dialect,
            clock=clock,
            faults=_fresh(self.faults),
        )


def _store(env: Mapping[str, str], cwd: str, *, enabled: bool) -> SessionStore | None:
    """Where conversations are kept: nowhere if the environment names no place for them."""
    folder = env.get("CLAUDE_CONFIG_DIR")
    if not folder and env.get("HOME"):
        folder = os.path.join(env["HOME"], ".claude")
    return SessionStore(folder, cwd, enabled) if folder else None


def _fresh(faults: Sequence[Fault]) -> Sequence[Fault]:
    """Copies for one engine: a fault counts frames."""
    if not faults:
        return ()
    from copy import deepcopy

    return deepcopy(list(faults))


def _demo() -> Scenario:
    from .demo_agent import demo_agent

    return demo_agent
