"""``python -m treetop`` is the command ``treetop``."""

from .cli.main import main

if __name__ == "__main__":
    main()
