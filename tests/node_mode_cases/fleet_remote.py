# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A case's bare repository: built by Git's own programs, watched by its own hooks."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

BRANCH = "main"
_IDENTITY = {
    "GIT_AUTHOR_NAME": "cases",
    "GIT_AUTHOR_EMAIL": "cases@example.com",
    "GIT_COMMITTER_NAME": "cases",
    "GIT_COMMITTER_EMAIL": "cases@example.com",
}


class FleetRemote:
    """One bare repository, and the commits that the case itself makes in it."""

    def __init__(self, folder: Path, *, new: bool = True) -> None:
        self.path = folder
        self.own: list[str] = []
        if new:
            self._git("init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(folder), bare=False)

    @classmethod
    def existing(cls, folder: Path) -> FleetRemote:
        """A repository that is there already."""
        return cls(folder, new=False)

    def commit(self, files: Mapping[str, bytes | None], message: str, branch: str = BRANCH) -> str:
        """Commit upon the branch's tip, outside of any run of a module. None takes a file away."""
        parent = self.tip(branch)
        index = self.path / "case-index"
        index.unlink(missing_ok=True)
        environment = {"GIT_INDEX_FILE": str(index)}
        if parent:
            self._git("read-tree", parent, environment=environment)
        for path, content in files.items():
            if content is None:
                self._git("rm", "--cached", "--quiet", "--", path, environment=environment)
                continue
            oid = self._git("hash-object", "-w", "--no-filters", "--stdin", stdin=content)
            self._git("update-index", "--add", "--cacheinfo", f"100644,{oid},{path}", environment=environment)
        tree = self._git("write-tree", environment=environment)
        parents = ["-p", parent] if parent else []
        made = self._git("commit-tree", *parents, "-m", message, tree, environment=_IDENTITY)
        self._git("update-ref", f"refs/heads/{branch}", made)
        self.own.append(made)
        return made

    def tip(self, branch: str = BRANCH) -> str:
        """The branch's commit; empty where there is none."""
        return self._git("for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")

    def file(self, path: str, revision: str = BRANCH) -> bytes | None:
        """A file's bytes at a revision; None where there is none."""
        answer = self._run("cat-file", "blob", f"{revision}:{path}")
        return answer.stdout if answer.returncode == 0 else None

    def commits(self, since: str) -> list[str]:
        """Commits of the branch after a revision, oldest first, without the case's own."""
        listed = self._git("rev-list", "--reverse", f"{since}..{BRANCH}").split()
        return [commit for commit in listed if commit not in self.own]

    def refuse_pushes(self) -> None:
        """Let every push to the fleet branch be turned away, as a protected branch does."""
        self._hook(
            "update",
            f'[ "$1" = refs/heads/{BRANCH} ] || exit 0\n'
            'echo "GH006: protected branch update failed" >&2\nexit 1\n',
        )

    def tell_pushes(self, url: str) -> None:
        """Ask a URL after each push to the fleet branch; the push ends when that has answered."""
        call = f"import urllib.request; urllib.request.urlopen({url!r}).read()"
        python = shlex.quote(sys.executable)
        self._hook(
            "post-receive",
            f"while read -r old new ref; do\n"
            f'  [ "$ref" != refs/heads/{BRANCH} ] || {python} -S -c {shlex.quote(call)}\n'
            "done\n",
        )

    def _hook(self, name: str, text: str) -> None:
        hook = self.path / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\n" + text)
        hook.chmod(0o755)

    def _git(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        bare: bool = True,
    ) -> str:
        answer = self._run(*arguments, environment=environment, stdin=stdin, bare=bare)
        assert answer.returncode == 0, f"git {' '.join(arguments)}: {answer.stderr.decode()}"
        return answer.stdout.decode().strip()

    def _run(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        bare: bool = True,
    ) -> subprocess.CompletedProcess[bytes]:
        where = ["--git-dir", str(self.path)] if bare else []
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return subprocess.run(
            ["git", *where, *arguments],
            input=stdin,
            capture_output=True,
            env={**kept, **(environment or {})},
            check=False,
        )


class PushListener:
    """Answers the hook of a repository: runs what a case does after a push while the push still waits."""

    def __init__(self) -> None:
        self.on_push: Callable[[], None] = lambda: None
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                listener.on_push()
                self.send_response_only(204)
                self.end_headers()

            def log_message(self, *_args: object) -> None:
                """Quiet."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """What a hook asks."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/pushed"

    def close(self) -> None:
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()
