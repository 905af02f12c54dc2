"""Helper modules of the command tests are found here too."""

import sys
from pathlib import Path

for folder in (Path(__file__).parent, Path(__file__).parents[1] / "cli"):
    sys.path.insert(0, str(folder))
