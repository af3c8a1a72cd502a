"""`python -m semisvm`: the command, where its script is not on the path."""

from semisvm.cli import main

if __name__ == "__main__":
    main()
