"""What random worlds are about, beside what happens in all of them: one module each."""

from __future__ import annotations

from tests.simulation.random_stage import Theme
from tests.simulation.themes.blast import BLAST
from tests.simulation.themes.host import HOST_THEME
from tests.simulation.themes.leaders import LEADERS
from tests.simulation.themes.rules import RULES_THEME
from tests.simulation.themes.turns import TURNS
from tests.simulation.themes.workloads import WORKLOADS

THEMES: dict[str, Theme] = {theme.name: theme for theme in (HOST_THEME, LEADERS, TURNS, BLAST, WORKLOADS, RULES_THEME)}
