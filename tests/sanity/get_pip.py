# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts pip into a virtual environment of ansible-test, where its own bootstrap script cannot be fetched.

scripts/sanity places this file in ansible-test's cache under the name of that script. It is started with the
options of that script: pip's own, the packages to install, --no-setuptools and --no-wheel.
"""

from __future__ import annotations

import ensurepip
import runpy
import sys

NOT_OF_PIP = ("--no-setuptools", "--no-wheel")


def main() -> None:
    """Unpack the pip that Python carries, then let that pip install the packages asked for."""
    options = [option for option in sys.argv[1:] if option not in NOT_OF_PIP]
    ensurepip.bootstrap(upgrade=True, default_pip=True)
    sys.argv = ["pip", "install", "--upgrade", *options]
    runpy.run_module("pip", run_name="__main__")


if __name__ == "__main__":
    main()
