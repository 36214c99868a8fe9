"""Configuration of Sphinx."""

from __future__ import annotations

from importlib import metadata

project = "Kuijia"
author = "the authors of Kuijia"
release = version = metadata.version("kuijia")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
exclude_patterns = ["site"]

myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
highlight_language = "none"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_use_type_comments = False
default_role = "code"  # single backticks, as in all docstrings
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"Kuijia {release}"
html_static_path = ["static"]
html_js_files = ["copy.js"]
html_copy_source = False
html_show_sourcelink = False
