"""The site: `make docs` builds it. Pages are Markdown (MyST), the reference is made from
docstrings and `__all__`.
"""

import importlib
import inspect
import os
import re
import sys
import tomllib
import warnings
import zlib
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref

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
    "sphinx.ext.intersphinx",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "templates",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
    "reference/backreferences",
]
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
autodoc_preserve_defaults = True  # as the source has them
default_role = "py:obj"  # `AutoSVC` in a docstring is a link
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False  # the template lists the methods
numpydoc_xref_param_type = False

# The public packages. A name that several of them have is documented with the first.
PACKAGES = [
    "semisvm",
    "semisvm.metrics",
    "semisvm.model_selection",
    "semisvm.decision",
    "semisvm.campaign",
    "semisvm.export",
    "semisvm.report",
    "semisvm.tables",
    "semisvm.primal",
    "semisvm.dual",
    "semisvm.kernels",
]
# The groups of the reference: page, title, names of `semisvm` and whole packages, in their order.
GROUPS = [
    (
        "few-labels",
        "Learn from few labels",
        "AutoSVC SupervisedSVC SVCCV PositiveUnlabeledSVC UnlabeledKernel TableEncoder",
    ),
    (
        "targets",
        "Control precision and recall",
        "Campaign PreferenceSVC PreferenceClassifier ThresholdClassifier semisvm.campaign",
    ),
    (
        "published",
        "Published methods",
        "TransductiveSVC LaplacianSVC LabelMeanSVC ProgressiveSVC ClusterSVC SelfTrainingSVC"
        " MixtureClassifier all_estimators compare",
    ),
    (
        "model-selection",
        "Splits, scores and calibration with unlabeled rows",
        "SemiSupervisedKFold SemiSupervisedGroupKFold SemiSupervisedShuffleSplit"
        " SemiSupervisedCalibratedClassifierCV check_fair_sample FairSampleWarning hide split"
        " semisvm.metrics semisvm.model_selection",
    ),
    (
        "output",
        "Save, report and export",
        "save load write_report semisvm.report semisvm.export semisvm.tables semisvm",
    ),
    ("decision", "Thresholds, intervals and certificates", "semisvm.decision"),
    ("engine", "The engine", "semisvm.dual semisvm.primal semisvm.kernels"),
]


def public_names():
    """Return {full name: (short name, package)} of the public classes and functions."""
    names = {}
    seen = set()
    for package in PACKAGES:
        try:
            module = importlib.import_module(package)
        except ModuleNotFoundError:
            continue
        for name in sorted(getattr(module, "__all__", []), key=str.lower):
            value = getattr(module, name)
            if (inspect.isclass(value) or inspect.isroutine(value)) and id(value) not in seen:
                seen.add(id(value))
                names[f"{package}.{name}"] = (name, package)
    return names


def write_if_new(path, lines):
    """Write a page, unless it is there already: Sphinx reads again what is newer."""
    text = "\n".join([*lines, ""])
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def heading(text):
    return [text, "=" * len(text), ""]


def write_reference():
    """Write the reference: a first page with one line per public name, in groups, and a page per
    group; autosummary makes a page for each name.
    """
    folder = HERE / "reference"
    folder.mkdir(exist_ok=True)
    left = public_names()
    index = [
        *heading("API reference"),
        "Every public name, in one line each. :doc:`/api` has the rules that all estimators share:",
        "the order and the meaning of parameters, and the fitted attributes.",
        "",
    ]
    pages = []
    for page, title, contents in GROUPS:
        names = []
        for item in contents.split():
            if item in PACKAGES:
                names += [full for full, (_, package) in left.items() if package == item]
            elif f"semisvm.{item}" in left:
                names.append(f"semisvm.{item}")
        names = list(dict.fromkeys(names))
        for full in names:
            left.pop(full)
        if not names:
            continue
        table = [f"   ~{full}" for full in names]
        lines = [*heading(title), ".. autosummary::", "   :toctree: generated/"]
        write_if_new(folder / f"{page}.rst", [*lines, "   :nosignatures:", "", *table])
        index += [title, "-" * len(title), "", ".. autosummary::", "   :nosignatures:", ""]
        index += [*table, ""]
        pages.append(page)
    if left:
        raise ValueError(f"public names in no group of the reference: {', '.join(left)}")
    index += [".. toctree::", "   :hidden:", "", *(f"   {page}" for page in pages), "   /api"]
    write_if_new(folder / "index.rst", index)


write_reference()  # before autosummary looks for its tables

# ---- links ----


def write_inventory(path):
    """Write an inventory of scikit-learn's public names, for links to its documentation.

    Its pages are `modules/generated/NAME.html`. Made from the installed version, so that a build
    never needs the network.
    """
    found = {}
    for module_name in SKLEARN_MODULES:
        module = importlib.import_module(f"sklearn.{module_name}")
        for name in getattr(module, "__all__", []):
            kind = "class" if name[0].isupper() else "function"
            found[f"sklearn.{module_name}.{name}"] = kind
    lines = [
        f"{name} py:{kind} 1 modules/generated/{name}.html#$ -" for name, kind in found.items()
    ]
    head = "# Sphinx inventory version 2\n# Project: scikit-learn\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(head.encode() + zlib.compress(("\n".join(lines) + "\n").encode()))
    return {name.rpartition(".")[2]: name for name in found}


SKLEARN_MODULES = [
    "calibration",
    "compose",
    "decomposition",
    "dummy",
    "ensemble",
    "feature_extraction.text",
    "feature_selection",
    "frozen",
    "inspection",
    "kernel_approximation",
    "linear_model",
    "metrics",
    "model_selection",
    "naive_bayes",
    "neighbors",
    "pipeline",
    "preprocessing",
    "semi_supervised",
    "svm",
    "utils.estimator_checks",
]
OF_SKLEARN = write_inventory(HERE / "_build" / "sklearn.inv")
intersphinx_mapping = {
    "sklearn": ("https://scikit-learn.org/stable/", str(HERE / "_build" / "sklearn.inv"))
}
OF_SEMISVM = {short: full for full, (short, _) in public_names().items()}
CALL = re.compile(r"([A-Za-z_][\w.]*)(\(.*\))?", re.DOTALL)


def object_of(code, page):
    """Return the full name of what a piece of code on a page is about, or None.

    `AutoSVC`, `AutoSVC(costs=...)`, `semisvm.save` and `GridSearchCV` are names; short names of
    functions (`precision`, `split`) are not, because they may mean anything.
    """
    match = CALL.fullmatch(code)
    if match is None:
        return None
    name = match[1]
    if name[0].isupper():
        full = OF_SEMISVM.get(name) or OF_SKLEARN.get(name)
    else:
        full = name if name in public_names_in_full else None
    return None if full is None or page.endswith(f"/{full}") else full


public_names_in_full = frozenset(public_names())


def link_names(app, doctree):
    """Make names of classes in the text of pages links to their documentation."""
    page = app.env.docname
    for node in list(doctree.findall(nodes.literal)):
        at = node.parent
        while at is not None and not isinstance(at, nodes.title | nodes.reference | pending_xref):
            at = at.parent
        full = object_of(node.astext(), page)
        if at is not None or full is None:
            continue
        link = pending_xref(
            "", refdomain="py", reftype="obj", reftarget=full, refdoc=page, refexplicit=True
        )
        node.replace_self(link)
        link += node


def mark_plots(app, doctree):
    """Give charts a class, for the style sheet: they are drawn for a white page."""
    for image in doctree.findall(nodes.image):
        if image["uri"].startswith(("plots/", "../plots/")):
            image["classes"].append("plot")


# ---- the gallery ----
# Examples are read by the same rule as tests: a warning is a defect. Set here, not there: a reader
# has no use for it.
os.environ.setdefault("MPLBACKEND", "agg")
warnings.filterwarnings("ignore", category=DeprecationWarning, module="sphinx.*")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "subsection_order": [
        f"../examples/{name}" for name in ("certify", "unlabeled", "tune", "scale")
    ],
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (480, 336),
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
html_extra_path = ["llms.txt"]  # at the root of the site, for coding agents
html_show_sourcelink = False
html_copy_source = False
html_logo = "assets/logo.svg"
html_favicon = "assets/logo.svg"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
# A link to the repository, once pyproject.toml names it under [project.urls].
URLS = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"].get(
    "urls", {}
)
html_theme_options = {
    "logo": {"text": "semisvm", "alt_text": "semisvm"},
    "icon_links": [
        {"name": "Repository", "url": url, "icon": "fa-brands fa-github"}
        for name, url in URLS.items()
        if name in ("Repository", "Source")
    ],
    "navigation_with_keys": False,
    "show_toc_level": 1,
    "header_links_before_dropdown": 5,
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "gallery/index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "search_bar_text": "Search the documentation",
}
html_sidebars = {
    "index": [],
    "install": [],
    "getting-started": [],
    "changes": [],
}


def skip_inherited(app, what, name, value, skip, options):
    """Leave out members that come from scikit-learn or Python: their documentation is there."""
    function = inspect.unwrap(getattr(value, "fget", None) or getattr(value, "__func__", value))
    home = getattr(function, "__module__", None) or "semisvm"
    return True if not home.startswith("semisvm") else None


def setup(app):
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", mark_plots)
