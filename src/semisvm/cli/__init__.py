"""The command line: parse, call one function, print, exit code.

`main` imports the commands itself, so that Ctrl-C during the imports ends like Ctrl-C at any other time, and no
traceback reaches a user. Exit codes: see `EXIT_CODES`.

A command uses a small part of what scikit-learn and SciPy import when they are imported themselves. In the process of
the command, and nowhere else, the packages in `LATE` are executed when a name is taken from them: see `LateModule`.
"""

import _thread
import atexit
import contextlib
import errno
import gc
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType
from typing import Any, NoReturn

EXIT_CODES = (
    "Exit codes: 0 done, 1 a target that was asked for is not met, 2 bad input, 3 not enough memory, "
    "130 stopped by Ctrl-C or SIGTERM."
)
NO_MEMORY = "not enough memory"
LEAST_ADDRESS_SPACE = 5 << 28
# What libraries say when the memory limit of the process keeps them from being loaded or from starting threads.
_SIGNS_OF_NO_MEMORY = (
    "failed to map segment",
    "cannot allocate memory",
    "can't start new thread",
    "unable to allocate",
)
NEW_OBJECTS = 50_000  # until garbage is looked for
LATE = frozenset([
    "joblib", "narwhals", "narwhals.stable", "narwhals.stable.v2", "numpy.f2py", "numpy.testing", "scipy.spatial",
    "scipy.stats", "sklearn.callback", "sklearn.cluster", "sklearn.compose", "sklearn.decomposition",
    "sklearn.ensemble", "sklearn.feature_extraction", "sklearn.gaussian_process", "sklearn.impute",
    "sklearn.linear_model", "sklearn.metrics", "sklearn.metrics.cluster", "sklearn.model_selection",
    "sklearn.neighbors", "sklearn.preprocessing", "sklearn.svm", "sklearn.tree",
])  # fmt: skip


def main() -> NoReturn:
    """Run the `semisvm` command."""
    code = 130
    try:
        _prepare_streams()
        _on_signals(_leave)
        _check_address_space()
        with late_packages(), _rare_collections():
            from semisvm.cli.commands import run

            _on_signals(_stop)
            code = run(sys.argv[1:])
    except KeyboardInterrupt:
        _on_signals(signal.SIG_IGN)
        print("Stopped.", file=sys.stderr)
    except Exception as error:
        if not lacks_memory(error):
            raise
        print(
            f"Error: {NO_MEMORY} to load the program: it takes more than a gigabyte of address space.", file=sys.stderr
        )
        code = 3
    _on_signals(signal.SIG_IGN)  # the work is done: only the end is left
    sys.exit(code if _flush_streams() else code or 2)


def _check_address_space() -> None:
    """Refuse a limit (`ulimit -v`) below what loading takes: OpenBLAS would wait for memory forever."""
    with contextlib.suppress(ImportError):  # Windows has no such limits
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
            raise MemoryError


def errors_behind(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, the one behind it, and so on."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def lacks_memory(error: BaseException) -> bool:
    """Whether an error, or one behind it, says that memory is used up."""
    return any(
        isinstance(one, MemoryError)
        or getattr(one, "errno", None) == errno.ENOMEM
        or any(sign in str(one).lower() for sign in _SIGNS_OF_NO_MEMORY)
        for one in errors_behind(error)
    )


def _on_signals(handler: Any) -> None:
    """Handle Ctrl-C and SIGTERM; an interrupt that falls where Python drops exceptions is sent again."""
    with contextlib.suppress(ValueError):  # not in the main thread
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, handler)
        sys.unraisablehook = _send_again


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """End at once: while the program loads there is nothing to keep, and imports do not always pass exceptions on."""
    with contextlib.suppress(OSError):
        os.write(2, b"Stopped.\n")
    os._exit(130)


def _stop(number: int, frame: FrameType | None) -> None:
    """End like Ctrl-C, after an import that is under way: packages drop interrupts there, or stay half imported."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    if frame is None:
        raise KeyboardInterrupt
    _send_soon()


def _send_again(dropped: Any) -> None:
    if issubclass(dropped.exc_type, KeyboardInterrupt):
        _send_soon()
    else:
        sys.__unraisablehook__(dropped)


def _send_soon() -> None:
    """Send the interrupt again, once Python has left this place. On Windows os.kill would end the process."""

    def send() -> None:
        time.sleep(0.01)
        if os.name == "nt":
            signal.raise_signal(signal.SIGINT)
        else:
            os.kill(os.getpid(), signal.SIGINT)

    _thread.start_new_thread(send, ())


class _Output(io.FileIO):
    """Standard output that goes on into nothing once it can't be written to, for reasons that are no failure."""

    forgives: type[OSError] = BrokenPipeError  # its reader is gone, as `head` is

    def write(self, data: Any) -> int:
        """Write, or pretend to."""
        try:
            return super().write(data)
        except self.forgives:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, self.fileno())
            os.close(nothing)
            return memoryview(data).nbytes


class _ErrorOutput(_Output):
    forgives = OSError  # there is no place left to complain


def _prepare_streams() -> None:
    """Make printing safe: a closed stream is replaced, and what a stream can't show is escaped."""
    kinds: tuple[tuple[str, Callable[..., _Output]], ...] = (("stdout", _Output), ("stderr", _ErrorOutput))
    for name, kind in kinds:
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
            continue
        try:
            raw = kind(stream.fileno(), "w", closefd=False)
        except (OSError, ValueError, AttributeError):  # it is no file, as in a test
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
            continue
        stream.flush()
        buffered = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=stream.encoding,
            errors="backslashreplace",
            line_buffering=name == "stderr" or stream.line_buffering,
        )
        setattr(sys, name, buffered)


def _flush_streams() -> bool:
    """Write what is left; return whether that was possible."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


# ---- packages that are executed when they are used ----


class LateModule(ModuleType):
    """A package that is executed when a name that it alone knows is taken from it.

    A name that its `__init__.py` imports from one of its modules is taken from that module, and a module of the package
    can be imported, without executing the package. Once it is executed it is a module like any other.
    """

    def __getattr__(self, name: str) -> Any:
        spec = self.__spec__
        is_of_imports = name.startswith("__") and name not in ("__all__", "__version__")
        if is_of_imports or spec is None or not isinstance(spec.loader, _LateLoader):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return spec.loader.look_up(self, name)

    def __dir__(self) -> list[str]:
        hasattr(self, "__all__")  # executes it
        return list(ModuleType.__dir__(self))


class _LateLoader:
    """Makes a `LateModule`, and executes it when its time has come."""

    one_at_a_time = threading.RLock()

    def __init__(self, spec: ModuleSpec):
        assert spec.loader is not None
        assert spec.origin is not None
        self.spec, self.loader, self.source = spec, spec.loader, spec.origin
        self.is_executing = False
        self.homes: dict[str, tuple[str, str]] | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return LateModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing yet."""

    def look_up(self, module: ModuleType, name: str) -> Any:
        """Return what a name stands for; other threads wait until this is known."""
        with self.one_at_a_time:
            if type(module) is not LateModule:  # another thread has executed it
                return getattr(module, name)
            if self.homes is None:
                # The modules of scikit-learn's packages can be imported in any order, those of SciPy's can't.
                is_any_order = not self.spec.name.startswith(("numpy.", "scipy."))
                self.homes = _homes(self.source, self.spec.name) if is_any_order else {}
            if self.is_executing:  # by this thread: as with every package that is half executed
                raise AttributeError(f"module {self.spec.name!r} has no attribute {name!r} yet")
            if name in self.homes:
                home, own_name = self.homes[name]
                value = vars(module)[name] = getattr(import_module(home, self.spec.name), own_name)
                return value
            if PathFinder.find_spec(f"{self.spec.name}.{name}", module.__path__):
                return import_module(f"{self.spec.name}.{name}")
            self.is_executing = True
            try:
                self.loader.exec_module(module)
            finally:
                self.is_executing = False
            module.__spec__, module.__loader__ = self.spec, self.loader
            module.__class__ = ModuleType  # type: ignore[assignment]
            return getattr(module, name)


def _homes(source: str, package: str) -> dict[str, tuple[str, str]]:
    """For each name that a package imports from a module: the module, and the name there."""
    import ast

    with open(source, encoding="utf-8") as text:
        statements = ast.parse(text.read()).body
    return {
        one.asname or one.name: ("." * statement.level + (statement.module or ""), one.name)
        for statement in statements
        if isinstance(statement, ast.ImportFrom) and statement.module not in (None, package)
        for one in statement.names
    }


class _LateFinder:
    """Finds the packages that are executed late."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if name not in LATE:
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is None or found.origin is None or found.submodule_search_locations is None:
            return found
        late = ModuleSpec(name, _LateLoader(found), origin=found.origin, is_package=True)  # type: ignore[arg-type]
        late.submodule_search_locations = found.submodule_search_locations
        late.has_location = True
        return late


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for cycles of garbage rarely: imports make none. At the end of the process there is nothing to look for."""
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    before = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextlib.contextmanager
def late_packages() -> Iterator[None]:
    """Execute the packages in `LATE` when they are used; those that were imported before stay as they are."""
    sys.meta_path.insert(0, _LateFinder)  # type: ignore[arg-type]
    try:
        yield
    finally:
        sys.meta_path.remove(_LateFinder)  # type: ignore[arg-type]
