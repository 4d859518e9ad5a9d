"""`python -m frtui`."""

import sys  # and nothing that an older Python stumbles over before it is told that it is too old

if __name__ == "__main__":
    if sys.version_info < (3, 9):  # noqa: UP036 - pip checks this for itself; the single file has only us
        sys.exit(f"frtui needs Python 3.9 or newer; this is {sys.version.split()[0]}")
    from frtui.cli import main

    sys.exit(main())
