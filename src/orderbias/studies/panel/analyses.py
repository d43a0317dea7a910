"""Every analysis of a panel by name, in the order of a report; nothing else lists them."""

from orderbias.studies.panel.all_orderings import all_orderings
from orderbias.studies.panel.controls import controls
from orderbias.studies.panel.factors import factors
from orderbias.studies.panel.leaderboard import leaderboard
from orderbias.studies.panel.margin import margin
from orderbias.studies.panel.operations import operations
from orderbias.studies.panel.pairs import pairs
from orderbias.studies.panel.prior import prior
from orderbias.studies.panel.repeats import repeats
from orderbias.studies.panel.values import Analysis
from orderbias.studies.panel.variance import variance

ANALYSES: dict[str, Analysis] = {
    "factors": factors,
    "margin": margin,
    "prior": prior,
    "variance": variance,
    "controls": controls,
    "operations": operations,
    "pairs": pairs,
    "all-orderings": all_orderings,
    "repeats": repeats,
    "leaderboard": leaderboard,
}
