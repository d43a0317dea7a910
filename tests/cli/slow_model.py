"""The real command with a simulated model that takes its time, so that kills fall into the asking."""

SLOW = """
import sys, time
from orderbias.backends.simulated import SimulatedBackend
from orderbias import collect
from orderbias.cli import main
collect.ITEMS_AT_ONCE, collect.FLUSH_SECONDS = 4, 0.0
quick = SimulatedBackend.ask
def ask(self, requests):
    time.sleep(0.1)
    return quick(self, requests)
SimulatedBackend.ask = ask
main(sys.argv[1:])
"""
