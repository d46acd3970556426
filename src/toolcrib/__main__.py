"""`python -m toolcrib` is the same as `toolcrib`."""

from toolcrib.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
