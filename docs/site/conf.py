# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx settings of the documentation site. It refers to nothing outside, so that it builds offline."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

project = "gpuops.reservations"
copyright = "The gpuops.reservations contributors"  # noqa: A001  (the name that Sphinx reads)
title = "gpuops.reservations"
html_title = html_short_title = "gpuops.reservations"

extensions = ["sphinx_antsibull_ext"]
highlight_language = "YAML+Jinja"
pygments_style = "ansible"
default_role = "any"
nitpicky = True

html_theme = "sphinx_ansible_theme"
html_theme_options = {
    "documentation_home_url": "index.html",
    "vcs_pageview_mode": "",
}
html_show_sphinx = False
html_show_sourcelink = False
html_use_index = False
html_copy_source = False

# What pages of other projects are called here, and where they are: no inventory has to be fetched.
ANSIBLE = "https://docs.ansible.com/projects/ansible/latest"
ELSEWHERE = {
    "callback_plugins": f"{ANSIBLE}/plugins/callback.html",
    "common_return_values": f"{ANSIBLE}/reference_appendices/common_return_values.html",
    "ansible_configuration_settings": f"{ANSIBLE}/reference_appendices/config.html",
}
SIBLING = re.compile(r"ansible_collections\.(ansible\.builtin|kubernetes\.core|kubevirt\.core)\.(\w+_\w+)$")


def elsewhere(
    _app: Sphinx, _env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.reference | None:
    """Where a reference points that no page here has; None is a warning, and so an error."""
    target = node.get("reftarget", "")
    sibling = SIBLING.match(target)
    url = ELSEWHERE.get(target)
    if sibling:
        namespace, name = sibling[1].split(".")
        url = f"{ANSIBLE}/collections/{namespace}/{name}/{sibling[2]}.html"
    return nodes.reference("", "", content, internal=False, refuri=url) if url else None


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("missing-reference", elsewhere)
