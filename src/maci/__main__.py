"""``python -m maci`` is the command ``maci``."""

from maci.cli import main

if __name__ == "__main__":
    main()
