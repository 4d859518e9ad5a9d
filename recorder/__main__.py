"""`python -m recorder`."""

import sys

from recorder.cli import main

if __name__ == "__main__":
    sys.exit(main())
