"""The site: `make docs` builds it. Pages are Markdown (MyST), the reference is made from docstrings and `__all__`."""

import importlib
import inspect
import os
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import semisvm  # noqa: E402

project = "semisvm"
author = "The semisvm developers"
copyright = "The semisvm developers"
version = release = semisvm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "templates", "gallery/**/*.ipynb", "gallery/**/*.py", "reference/backreferences"]
suppress_warnings = ["config.cache"]
extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}  # :doi:`10.1000/1` in docstrings

# ---- pages ----
myst_enable_extensions = ["colon_fence", "deflist", "attrs_block", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# ---- the reference ----
templates_path = ["templates"]
autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say the types
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False  # the template lists the methods
numpydoc_xref_param_type = False

# What the reference has: the names in `__all__` of these packages.
PACKAGES = {
    "semisvm": "Estimators, campaigns, splitters, and model files",
    "semisvm.model_selection": "Splits, out-of-fold scores, and calibration",
    "semisvm.decision": "Thresholds, intervals and certificates",
    "semisvm.campaign": "Label until certified",
    "semisvm.export": "Models in other systems: ONNX and model cards",
    "semisvm.report": "The report, and its pictures as Displays",
    "semisvm.tables": "Tables of mixed columns, and model files",
    "semisvm.datasets": "Named data sets",
    "semisvm.primal": "The primal solvers, for rows that are not in memory",
    "semisvm.dual": "The engine: one quadratic problem",
    "semisvm.kernels": "Kernels",
}


def write_reference(app=None):
    """Write one page per package, with a table of its public names; autosummary makes a page for each name."""
    folder = HERE / "reference"
    folder.mkdir(exist_ok=True)
    seen, pages = set(), []
    for package, title in PACKAGES.items():
        try:
            module = importlib.import_module(package)
        except ModuleNotFoundError:
            continue
        names = []
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if not (inspect.isclass(value) or inspect.isroutine(value)) or id(value) in seen:
                continue
            seen.add(id(value))
            names.append(name)
        if not names:
            continue
        heading = f"{package}: {title[0].lower() + title[1:]}" if package != "semisvm" else f"semisvm: {title}"
        lines = [heading, "=" * len(heading), "", f".. currentmodule:: {package}", "", ".. autosummary::"]
        lines += ["   :toctree: generated/", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in sorted(names, key=str.lower)]
        page = folder / f"{package}.rst"
        text = "\n".join(lines) + "\n"
        if not page.exists() or page.read_text() != text:
            page.write_text(text)
        pages.append(package)
    index = folder / "index.rst"
    text = "\n".join(
        [
            "API reference",
            "=============",
            "",
            "Every public name. :doc:`/api` has the rules that all estimators share: the order and the meaning of",
            "parameters, and the fitted attributes.",
            "",
            ".. toctree::",
            "   :maxdepth: 2",
            "",
            *(f"   {page}" for page in pages),
            "   /api",
            "",
        ]
    )
    if not index.exists() or index.read_text() != text:
        index.write_text(text)


write_reference()  # before autosummary looks for its tables

# ---- the gallery ----
# Examples are read by the same rule as tests: a warning is a defect. Set here, not there: a reader has no use for it.
os.environ.setdefault("MPLBACKEND", "agg")
warnings.filterwarnings("ignore", category=DeprecationWarning, module="sphinx.*")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("semisvm",),
    "backreferences_dir": "reference/backreferences",
    "reference_url": {"semisvm": None},
    "remove_config_comments": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1000,
    "plot_gallery": "True",
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
    "abort_on_example_error": False,
}

# ---- the look: nothing is loaded from another server ----
html_context = {"default_mode": "auto"}
html_theme = "pydata_sphinx_theme"
html_title = f"semisvm {version}"
html_static_path = ["assets"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 5,
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "search_bar_text": "Search the documentation",
}
html_sidebars = {"index": [], "install": [], "getting-started": [], "which-method": [], "changes": []}


def skip_inherited(app, what, name, value, skip, options):
    """Leave out members that come from scikit-learn or Python: their documentation is there."""
    function = inspect.unwrap(getattr(value, "fget", None) or getattr(value, "__func__", value))
    home = getattr(function, "__module__", None) or "semisvm"
    return True if not home.startswith("semisvm") else None


def list_other_pages(app, name, source):
    """Put the pages that no list names at the end of the list of "Behind the methods", so that none is out of reach."""
    if name == "depth":
        named = "".join((HERE / page).read_text(encoding="utf-8") for page in ("index.md", "guide.md", "depth.md"))
        named += "\nindex\napi\n"  # api is in the list of the reference
        pages = [page.stem for page in sorted(HERE.glob("*.md"))]
        others = [page for page in pages if not re.search(rf"^{page}$", named, re.MULTILINE)]
        source[0] = source[0].replace("contributing\n", "\n".join(["contributing", *others, ""]))


def setup(app):
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("source-read", list_other_pages)
