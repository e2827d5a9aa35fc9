from docutils import nodes
from latex2mathml.converter import convert

import vrbm

project = "vrbm"
author = "The vrbm developers"
copyright = "2026, The vrbm developers"
version = release = vrbm.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["amsmath", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "vrbm"
exclude_patterns = ["_build", "benchmarks"]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True
default_role = "code"


# Files of the repository that the README links to, and the pages of the site with the same text.
PLACES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}


def relink(app, relative_path, parent_docname, content):
    """Point the links of included files at pages of the site."""
    for target, page in PLACES.items():
        content[0] = content[0].replace(f"]({target})", f"]({page})")
    content[0] = content[0].replace("[CITATION.cff](CITATION.cff)", "CITATION.cff")


def escape_bars(app, what, name, obj, options, lines):
    """Docstrings write |w| and p(z|v) as mathematics, which reStructuredText reads as markup."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def inline_mathml(translator, node):
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block_mathml(translator, node):
    translator.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    # MathML, which browsers draw themselves: the site needs no network.
    app.add_html_math_renderer("mathml", (inline_mathml, None), (block_mathml, None))
    # After napoleon has turned sections into fields.
    app.connect("include-read", relink)
    app.connect("autodoc-process-docstring", escape_bars, priority=900)
