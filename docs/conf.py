"""The site: `make docs` builds it. Pages are Markdown, the reference is made from docstrings."""

import inspect
import os
import re

import semisvm

project = "semisvm"
author = copyright = "The semisvm developers"
version = release = semisvm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "templates", "examples/**/*.ipynb", "examples/**/*.py"]
suppress_warnings = ["config.cache"]
extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}  # :doi:`10.1000/1` in docstrings
linkcheck_ignore = [r"https://doi\.org/.*"]  # publishers refuse programs

myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

templates_path = ["templates"]
autodoc_typehints = "none"  # the docstrings say the types
autodoc_preserve_defaults = True
toc_object_entries_show_parents = "hide"  # `fit()`, not `AutoSVC.fit()`, beside its page
default_role = "py:obj"  # `AutoSVC` in a docstring is a link
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False  # the template lists the methods


def enlarge_text(gallery_conf, name):
    """Make the text in pictures large enough for phones."""
    import matplotlib

    matplotlib.rcParams["font.size"] = 12


os.environ.setdefault("MPLBACKEND", "agg")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "examples",
    "thumbnail_size": (480, 336),
    "doc_module": ("semisvm",),
    "backreferences_dir": None,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 1000,
    "image_srcset": ["2x"],
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", enlarge_text),
}

html_theme = "pydata_sphinx_theme"
html_title = f"semisvm {version}"
html_static_path = ["assets"]
html_css_files = ["site.css"]
html_logo = html_favicon = "assets/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": "semisvm", "alt_text": "semisvm"},
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
}


def leave_out_what_is_documented_elsewhere(app, what, name, value, skip, options):
    """Leave out members that come from scikit-learn or Python."""
    function = inspect.unwrap(getattr(value, "fget", None) or getattr(value, "__func__", value))
    home = getattr(function, "__module__", None) or "semisvm"
    return True if not home.startswith("semisvm") else None


def lead_to_what_is_made(app, page, source):
    """Make links that work on GitHub lead to the pages that are made here: of examples and results.

    A paragraph that is a link to an example becomes its first picture.
    """
    text = re.sub(
        r"^\[([^]]+)\]\(\.\./examples/(\w+)\.py\)$",
        r"[![\1](examples/images/sphx_glr_\2_001.png)](examples/\2.rst)",
        source[0],
        flags=re.MULTILINE,
    )
    text = re.sub(r"\(\.\./examples/(\w+)\.py\)", r"(examples/\1.rst)", text)
    source[0] = re.sub(r"\(\.\./studies/README\.md#(\w+)\)", r"(results/\1.md)", text)


def setup(app):
    """Connect what is above."""
    app.connect("autodoc-skip-member", leave_out_what_is_documented_elsewhere)
    app.connect("source-read", lead_to_what_is_made)
