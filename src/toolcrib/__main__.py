"""`python -m toolcrib` is the same as `toolcrib`."""

from toolcrib.connector.main import main

if __name__ == "__main__":
    raise SystemExit(main())
