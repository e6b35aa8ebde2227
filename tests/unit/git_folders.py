"""Git's own files, written by the test that needs them; git itself is never asked."""

from __future__ import annotations

import os
from pathlib import Path

ORIGIN = '[remote "origin"]\n\turl = {url}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
REMOTE = "git@github.com:acme/atlas.git"


def origin(url: str = REMOTE) -> str:
    """Settings of a repository whose origin is `url`."""
    return f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n{ORIGIN.format(url=url)}"


def git_folder(path: Path, config: str = "[core]\n\tbare = false\n") -> Path:
    """A git folder at `path`, such as `.git` or a bare repository."""
    for name in ("objects", "refs"):
        (path / name).mkdir(parents=True, exist_ok=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (path / "config").write_text(config, encoding="utf-8", newline="")
    return path


def repository(top: Path, config: str = "[core]\n\tbare = false\n") -> Path:
    """An ordinary repository; returns its top directory."""
    git_folder(top / ".git", config)
    return top


def worktree(folder: Path, common: Path, *, relative: bool = False) -> Path:
    """A linked worktree of the repository whose git folder is `common`."""
    private = common / "worktrees" / folder.name
    private.mkdir(parents=True)
    folder.mkdir(parents=True)
    (private / "HEAD").write_text("ref: refs/heads/feature\n", encoding="utf-8")
    (private / "commondir").write_text("../..\n", encoding="utf-8")
    (private / "gitdir").write_text(f"{folder / '.git'}\n", encoding="utf-8")
    target = os.path.relpath(private, folder) if relative else private
    (folder / ".git").write_text(f"gitdir: {target}\n", encoding="utf-8")
    return folder
