# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m lab.platform serve --state-dir DIR`, and `fault set|clear|list` for people at a lab."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from . import faults
from .api import CONFIGMAPS, Api


def _lab(given: str | None) -> Path:
    return Path(given or os.environ.get("GPUOPS_LAB_DIR") or ".lab").resolve()


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m lab.platform")
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="play the product until it is told to end")
    serving.add_argument("--state-dir", required=True)
    fault = commands.add_parser("fault", help="set, lift or show faults and delays")
    fault.add_argument("--state-dir")
    what = fault.add_subparsers(dest="what", required=True)
    setting = what.add_parser("set", help="KEY=VALUE ...; see lab/platform/README.md")
    setting.add_argument("values", nargs="+", metavar="KEY=VALUE")
    clearing = what.add_parser("clear", help="the named faults, or all")
    clearing.add_argument("keys", nargs="*")
    what.add_parser("list", help="what is set")
    options = parser.parse_args(arguments)
    if options.command == "serve":
        from .serve import serve  # noqa: PLC0415 - kopf is slow to import, and only this command needs it

        return serve(Path(options.state_dir).resolve())
    api = Api(_lab(options.state_dir) / "kubeconfig-admin")
    try:
        if options.what == "set":
            pairs = [text.partition("=") for text in options.values]
            faults.set_fault(api, **{key: value for key, _, value in pairs})
        elif options.what == "clear":
            faults.clear_faults(api, *options.keys)
    except (faults.UnknownFault, TimeoutError) as err:
        print(err, file=sys.stderr)
        return 1
    config = api.get(CONFIGMAPS, faults.NAME, faults.NAMESPACE) or {}
    print(json.dumps(config.get("data") or {}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
