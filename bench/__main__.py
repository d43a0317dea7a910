"""Run the parts of the benchmark one after another, each in a process of its own, and print one JSON object.

``python -m bench`` runs all of them, ``python -m bench analysis`` one.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
#: Part -> file. Each prints one JSON object on standard output.
PARTS = {
    "sweep": "sweep.py",
    "writing": "writing.py",
    "analysis": "analysis.py",
    "records": "million_items.py",
    "mitigation": "mitigation.py",
    "judging": "judging.py",
    "panel": "panel.py",
}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"A part must be one of {', '.join(PARTS)}. Got {', '.join(unknown)}.")
    found: dict[str, object] = {"machine": {"processors": os.cpu_count(), "kind": platform.machine()}}
    for name in names or PARTS:
        print(f"{name} ...", file=sys.stderr)
        out = subprocess.run([sys.executable, str(HERE / PARTS[name])], check=True, stdout=subprocess.PIPE, text=True)
        found[name] = json.loads(out.stdout)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
