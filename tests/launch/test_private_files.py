"""Files with tokens exist for as long as a CLI needs them, whatever happens to us."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import anyio
import anyio.lowlevel
import pytest
from tests.helpers.processes import PATIENCE

from claudewire.errors import CLIError
from claudewire.launch.private_files import PrivateFiles
from claudewire.transport.platforms.guardian import guardian

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_only_this_user_can_read_them(folder: Path) -> None:
    files = PrivateFiles()
    path = Path(files.write("mcp.json", "token"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    files.delete()
    files.delete()
    assert not list(folder.iterdir())


def test_they_have_names_that_tell_what_they_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tempfile.tempdir", ".")
    with PrivateFiles() as files:
        paths = [Path(files.write(name, name)) for name in ("a.json", "b.txt", "a.json")]
        assert [path.name for path in paths] == ["1-a.json", "2-b.txt", "3-a.json"]
        (place,) = {path.parent for path in paths}
        assert place.parent == folder
        assert place.name.startswith("claudewire-")


def test_they_are_guarded_until_they_are_deleted(folder: Path) -> None:
    files = PrivateFiles()
    for _ in range(2):  # what was deleted can be used again
        place = os.path.dirname(files.write("mcp.json", "token"))
        assert place in guardian()._folders
        files.delete()
        assert files.folder is None
        assert place not in guardian()._folders
    assert not list(folder.iterdir())


def test_they_may_be_deleted_by_others(folder: Path) -> None:
    files = PrivateFiles()
    place = os.path.dirname(files.write("mcp.json", "token"))
    shutil.rmtree(place)
    files.delete()
    assert place not in guardian()._folders


def test_in_a_fork_they_are_not_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = PrivateFiles()
    path = Path(files.write("mcp.json", "token"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 2**30)
        files.delete()
    assert path.exists()
    guardian().forget_folder(str(path.parent))


def test_they_are_deleted_with_their_object(folder: Path) -> None:
    files = PrivateFiles()
    files.write("mcp.json", "token")
    del files
    assert not list(folder.iterdir())


def test_a_file_that_cannot_be_written_is_an_error(folder: Path) -> None:
    folder.rmdir()
    with pytest.raises(CLIError, match=r"^The file mcp\.json for the CLI could not be") as caught:
        PrivateFiles().write("mcp.json", "token")
    assert "has space, and is yours" in caught.value.advice


HOST = """
import os, sys, tempfile
tempfile.tempdir = sys.argv[1]
from claudewire.launch.private_files import PrivateFiles
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


async def until_only(folder: Path, name: str) -> None:
    with anyio.fail_after(PATIENCE):
        while os.listdir(folder) != [name]:
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("name", ["plain", "with space  and 'quotes' $x *", "ünïcode"])
async def test_the_guardian_deletes_them_if_we_are_killed(
    folder: Path, number: int, name: str
) -> None:
    place = folder / name
    place.mkdir()
    with host(place, "sys.stdin.read()") as process:
        assert process.stdout is not None
        again = process.stdout.readline().decode().strip()
        assert len(list(place.glob("claudewire-*"))) == 2
        process.send_signal(number)
        process.wait(PATIENCE)
        await until_only(place, again)


async def test_a_fork_leaves_the_files_of_its_parent_alone(folder: Path) -> None:
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
