"""`python -m toolcrib.libp2p_node`: started by the engine, which it serves on its pipes."""

from toolcrib.libp2p_node.main import main

if __name__ == "__main__":
    main()
