"""Files with tokens exist for as long as a CLI needs them, whatever happens to us."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from tests.helpers.processes import PATIENCE

from claudewire.errors import CLIError
from claudewire.launch.delivery import PrivateFiles

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_private_files_are_readable_by_this_user_only(folder: Path) -> None:
    files = PrivateFiles()
    path = Path(files.write("mcp.json", "token"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    files.delete()
    assert not list(folder.iterdir())
    PrivateFiles().write("mcp.json", "token")  # deleted with its object
    assert not list(folder.iterdir())


def test_unwritable_file_is_an_error_with_advice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(folder / "none"))
    with pytest.raises(CLIError, match=r"settings\.json .* could not be") as caught:
        PrivateFiles().write("settings.json", "{}")
    assert "temporary files" in caught.value.advice


HOST = """
import os, sys, tempfile
tempfile.tempdir = sys.argv[1]
from claudewire.launch.delivery import PrivateFiles
kept, deleted = PrivateFiles(), PrivateFiles()
for files in (kept, deleted):
    files.write("mcp.json", "token")
again = deleted.folder
deleted.delete()
os.mkdir(again)  # by somebody else, who has got the same name
print(os.path.basename(again), flush=True)
{last}
"""


def host(folder: Path, last: str) -> subprocess.Popen[bytes]:
    code = HOST.format(last=dedent(last))
    return subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


async def test_fork_leaves_the_files_of_its_parent_alone(folder: Path) -> None:
    last = """
    if (child := os.fork()) == 0:
        sys.exit()
    os.waitpid(child, 0)
    print(os.path.exists(kept.folder), flush=True)
    """
    with host(folder, last) as process:
        said, _ = process.communicate(timeout=PATIENCE)
        again, kept = said.decode().split()
    assert kept == "True"
    assert os.listdir(folder) == [again]
