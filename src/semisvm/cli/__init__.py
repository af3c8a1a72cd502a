"""The command line: parse, call one function, exit code."""
