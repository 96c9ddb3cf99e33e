# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the git program: no prompts, no hooks, no environment but what signing in needs, bounded in time."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .._core.errors import ObservationError

# Location, signing in, certificates and proxies; nothing that points git at another repository or index.
_KEPT: Final = (
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
    "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "GIT_PROXY_SSL_CAINFO", "GIT_EXEC_PATH", "KRB5CCNAME", "KRB5_CONFIG",
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
)  # fmt: skip

# Settings of a person's own configuration that would change what we do.
_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "gc.autoDetach=false",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=no",
    "push.recurseSubmodules=no",
    "push.followTags=false",
    "push.gpgSign=false",
    "protocol.file.allow=always",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "color.ui=false",
)

_USERINFO = re.compile(r"(?<=://)[^/\s@'\"]+@")
_GIT_TIMEOUT_SECONDS: Final = 120.0

GIT_TIMEOUT: Final = "git-timeout"
CACHE_DAMAGED: Final = "fleet-cache-damaged"


def masked(text: str) -> str:
    """The text without user names and passwords of URLs."""
    return _USERINFO.sub("***@", text)


@dataclass(frozen=True)
class GitAnswer:
    """What a run of git left: exit code, standard output, and standard error, masked."""

    code: int
    output: bytes
    error: str

    @property
    def text(self) -> str:
        """Standard output as text, without the last line's end."""
        return self.output.decode("utf-8", "replace").strip()


@dataclass(frozen=True)
class GitProgram:
    """The git program working on one bare repository.

    Attributes:
        directory: the repository.
        extra_environment: more variables, for signing in: what must not stand in arguments.
        timeout: seconds that one run may take.
    """

    directory: Path
    extra_environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = _GIT_TIMEOUT_SECONDS

    def run(
        self,
        arguments: Sequence[str],
        *,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> GitAnswer:
        """Runs git and gives whatever it answered.

        Raises:
            ObservationError: git-missing, or git-timeout.
        """
        command = ["git", f"--git-dir={self.directory}"]
        for setting in _SETTINGS:
            command += ["-c", setting]
        return self._finished(command, arguments, stdin, {**self._environment(), **(environment or {})})

    def must(
        self,
        arguments: Sequence[str],
        *,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
    ) -> GitAnswer:
        """As :meth:`run`, for what can only fail when the local clone is damaged.

        Raises:
            ObservationError: fleet-cache-damaged, naming the operation and git's own words.
        """
        answer = self.run(arguments, stdin=stdin, environment=environment)
        if answer.code != 0:
            raise ObservationError(
                CACHE_DAMAGED,
                f"git {arguments[0]} failed on the local clone {self.directory}: {answer.error}",
                next_action=f"remove {self.directory.parent} and run again; it is only a cache",
                details={"operation": arguments[0]},
            )
        return answer

    def _finished(
        self, command: list[str], arguments: Sequence[str], stdin: bytes, environment: Mapping[str, str]
    ) -> GitAnswer:
        try:
            process = subprocess.Popen(
                [*command, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment),
                start_new_session=True,  # no terminal that ssh could ask on, and a group that ends as one
            )
        except FileNotFoundError as error:
            raise ObservationError(
                "git-missing",
                "the program git was not found on the PATH, so the fleet repository cannot be read",
                next_action="install git on the machine that runs the module",
            ) from error
        try:
            output, errors = process.communicate(stdin, timeout=self.timeout)
        except subprocess.TimeoutExpired as error:
            raise ObservationError(
                GIT_TIMEOUT,
                f"git {arguments[0]} took longer than {self.timeout:g} s and was ended",
                next_action="check that the fleet repository answers, then run again",
                details={"operation": arguments[0]},
            ) from error
        finally:
            if process.poll() is None:
                _end_group(process)
        return GitAnswer(process.returncode, output, masked(errors.decode("utf-8", "replace").strip()))

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        return {
            **kept,
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            **self.extra_environment,
        }


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends git and whatever it started; ssh and the transport helpers would outlive it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
