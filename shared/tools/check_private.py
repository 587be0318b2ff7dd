"""Nothing of one machine in the tree: ``python check_private.py`` reads every tracked file.

Home folders, scratch paths, this host's name and the hosts of a private index have no meaning to anyone else,
and a lock file made behind a mirror would send every reader to that mirror.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from workspace import ROOT

PATHS = (
    r"/(?:root|work|opt/pypi|opt/wheels)/[\w.-]",
    r"/tmp/scratch\b",
    r"/Users/\w",
    r"/home/(?!user\b|ovos\b|you\b)\w",
)
PUBLIC_HOSTS = {"pypi.org", "files.pythonhosted.org"}
INDEX_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL")


def private_hosts() -> set[str]:
    """Return names that only this machine knows: its own and those of its index, proxies included."""
    variables = (*INDEX_VARIABLES, "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
    urls = [url for variable in variables for url in os.environ.get(variable, "").split()]
    hosts = {urlsplit(url).hostname or "" for url in urls} | {socket.gethostname()}
    return {host for host in hosts if re.search(r"[\d.-]", host) and host not in PUBLIC_HOSTS | {"127.0.0.1"}}


def findings(texts: Iterable[tuple[str, str]], hosts: Iterable[str] = ()) -> list[str]:
    """Return ``file:line: what`` for each private thing in (file name, text) pairs."""
    patterns = [re.compile(pattern) for pattern in (*PATHS, *(rf"\b{re.escape(host)}\b" for host in hosts))]
    found = []
    for name, text in texts:
        for number, line in enumerate(text.splitlines(), 1):
            found += [f"{name}:{number}: {match[0]}" for p in patterns if (match := p.search(line))]
        if Path(name).name == "uv.lock":
            strangers = {
                urlsplit(url).hostname for url in re.findall(r'https?://[^"\s]+', text)
            } - PUBLIC_HOSTS
            found += [
                f"{name}: packages from {host}; lock with the public index"
                for host in sorted(map(str, strangers))
            ]
    return found


def tracked(root: Path) -> list[tuple[str, str]]:
    """Return name and text of every text file that git tracks."""
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    texts = []
    for name in filter(None, listing.split("\0")):
        file = root / name
        data = file.read_bytes() if file.is_file() else b"\0"
        if b"\0" not in data:
            texts.append((name, data.decode("utf-8", "replace")))
    return texts


if __name__ == "__main__":
    own = "shared/tools/check_private.py"
    problems = findings([pair for pair in tracked(ROOT) if pair[0] != own], private_hosts())
    print("\n".join(problems) or "tree: nothing of one machine")
    sys.exit(bool(problems))
