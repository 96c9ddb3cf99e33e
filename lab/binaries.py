# SPDX-FileCopyrightText: The gpuops.reservations contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control plane's programs: built once, and kept in the user's cache folder."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from . import toolchain
from .build_key import build_key, kubernetes_version
from .compile_progress import Compilation
from .components import Programs
from .directory import CHECKOUT
from .errors import LabError

Say = Callable[[str], None]

SOURCES = CHECKOUT / "lab" / "controlplane"
ASSETS_TAG = "kubebuilder_assets"
_KWOK_PACKAGE = "sigs.k8s.io/kwok/cmd/kwok"
_KWOK_STAGES = ("node/fast", "node/heartbeat-with-lease", "pod/fast")
_SPEAK_EVERY_SECONDS = 15.0
_KEPT_BUILDS = 3


def programs(environment: Mapping[str, str], say: Say) -> Programs:
    """The programs, built first where the cache does not have them.

    With KUBEBUILDER_ASSETS, etcd and kube-apiserver come from there, and are left out of the build.
    Raises LabError when they cannot be built.
    """
    assets = _usable_assets(environment, say)
    folder = _built(environment, [ASSETS_TAG] if assets else [], say)
    controlplane = str(folder / "controlplane")
    names = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    components = {name: (controlplane, name) for name in names}
    given = {name: (str(assets / name),) for name in ("etcd", "kube-apiserver")} if assets else {}
    return Programs(
        {**components, **given}, folder / "kwok", folder / "kwok-stages.yaml", folder / "kwok-role.yaml"
    )


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where builds are kept: outside any checkout."""
    base = environment.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "gpuops-reservations" / "lab"


def _usable_assets(environment: Mapping[str, str], say: Say) -> Path | None:
    named = environment.get("KUBEBUILDER_ASSETS", "")
    if not named:
        return None
    folder = Path(named).resolve()
    wanted = kubernetes_version(SOURCES).rpartition(".")[0]
    try:
        answer = subprocess.run(
            [folder / "kube-apiserver", "--version"], capture_output=True, text=True, check=True, timeout=60
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        say(f"KUBEBUILDER_ASSETS is not used: {folder}/kube-apiserver does not run ({error})")
        return None
    if re.fullmatch(rf"Kubernetes {re.escape(wanted)}\.\d+", answer) is None:
        say(f"KUBEBUILDER_ASSETS is not used: it has {answer!r}, and the lab needs {wanted}")
        return None
    if not os.access(folder / "etcd", os.X_OK):
        say(f"KUBEBUILDER_ASSETS is not used: {folder} has no etcd")
        return None
    say(f"etcd and kube-apiserver ({answer}) come from {folder}")
    return folder


def _settings(tags: list[str]) -> list[str]:
    release = kubernetes_version(SOURCES)
    major, minor, _ = release.removeprefix("v").split(".", 2)
    stamps = {"gitVersion": release, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    linked = " ".join(f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamps.items())
    return ["-buildvcs=false", f"-tags={','.join(tags)}", f"-ldflags=-s -w {linked}"]


def _built(environment: Mapping[str, str], tags: list[str], say: Say) -> Path:
    settings = _settings(tags)
    cache = cache_folder(environment)
    folder = cache / build_key(SOURCES, settings)
    cache.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        with _only_one(cache / "lock", say):
            if not folder.is_dir():
                _build(folder, settings, environment, say)
                _forget_old(cache)
    os.utime(folder)
    return folder


@contextmanager
def _only_one(path: Path, say: Say) -> Iterator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another lab is building the control plane: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(folder: Path, settings: list[str], environment: Mapping[str, str], say: Say) -> None:
    go = toolchain.find(say)
    say(
        f"building the control plane (Kubernetes {kubernetes_version(SOURCES)} and KWOK) with {go}: "
        "once, 5 to 15 minutes on two cores, less than a minute where Go's own cache has most of it"
    )
    go_environment = {
        **environment,
        "GOFLAGS": "-trimpath -mod=readonly",
        # No C compiler is needed, and what is built does not depend on whether there is one.
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix="building-"))
    try:
        packages = len(_ask_go(go, go_environment, "list", "-deps", ".", _KWOK_PACKAGE).split())
        _compile(go, go_environment, [*settings, "-o", f"{temporary}/", ".", _KWOK_PACKAGE], packages, say)
        kwok = Path(_ask_go(go, go_environment, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok").strip())
        _copy_kwok_files(kwok, temporary)
        temporary.chmod(0o755)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    say(f"built, and kept in {folder}")


def _ask_go(go: Path, environment: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [go, *arguments], cwd=SOURCES, env=dict(environment), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise _build_failed(f"go {arguments[0]}", done.stderr.strip()[-2000:])
    return done.stdout


def _compile(go: Path, environment: Mapping[str, str], arguments: list[str], packages: int, say: Say) -> None:
    progress = Compilation(packages)
    begun = time.monotonic()
    process = subprocess.Popen(
        [go, "build", "-v", *arguments],
        cwd=SOURCES,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    reader = threading.Thread(target=_read, args=(process, progress))
    reader.start()
    try:
        while True:
            reader.join(_SPEAK_EVERY_SECONDS)
            if not reader.is_alive():
                break
            say(progress.summary(time.monotonic() - begun))
        if process.wait() != 0:
            raise _build_failed("go build", progress.complaints())
    finally:
        # Interrupted: the compilers are children of go, in its group.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            reader.join()


def _read(process: subprocess.Popen[str], progress: Compilation) -> None:
    if process.stderr is not None:
        for line in process.stderr:
            progress.line(line)


def _build_failed(what: str, text: str) -> LabError:
    return LabError(
        f"the control plane cannot be built: {what} in {SOURCES} failed:\n{text}",
        "see that modules can be fetched (GOPROXY), that the disk has 8 GB free, and start again: "
        "what was compiled is kept",
    )


def _copy_kwok_files(kwok: Path, folder: Path) -> None:
    stages = []
    for name in _KWOK_STAGES:
        stage = kwok / "kustomize" / "stage" / name
        listed = yaml.safe_load((stage / "kustomization.yaml").read_text())["resources"]
        stages += [(stage / file).read_text() for file in listed]
    (folder / "kwok-stages.yaml").write_text("---\n".join(stages))
    shutil.copyfile(kwok / "kustomize" / "rbac" / "role.yaml", folder / "kwok-role.yaml")


def _forget_old(cache: Path) -> None:
    builds = [path for path in cache.iterdir() if path.is_dir() and not path.name.startswith("building-")]
    builds.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in builds[_KEPT_BUILDS:]:
        shutil.rmtree(path, ignore_errors=True)
