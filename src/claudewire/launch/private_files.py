"""Files that only this user can read, for as long as a CLI needs them."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref

from ..errors import CLIError
from ..transport import forget_folder, watch_folder


class PrivateFiles:
    """A private directory (0700) with private files (0600), made when first needed.

    The files must stay until the CLI has exited. The rest is deleted with this object, or when the
    interpreter exits; and by the guardian if this process is killed.
    """

    def __init__(self) -> None:
        self._folder: str | None = None
        self._count = 0
        self._delete: weakref.finalize[..., PrivateFiles] | None = None

    @property
    def folder(self) -> str | None:
        """The directory of the files; None if there are none."""
        return self._folder

    def write(self, name: str, text: str) -> str:
        """Write a new file, and return its path.

        Raises:
            CLIError: the file cannot be written.
        """
        self._count += 1
        try:
            path = os.path.join(self._made(), f"{self._count}-{name}")
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        except OSError as error:
            raise CLIError(
                f"The file {name} for the CLI could not be written: {error}",
                advice="Check that the directory for temporary files has space, and is yours.",
            ) from error
        return path

    def _made(self) -> str:
        if self._folder is None:
            self._folder = os.path.abspath(tempfile.mkdtemp(prefix="claudewire-"))
            self._delete = weakref.finalize(self, _delete, self._folder, os.getpid())
            watch_folder(self._folder)
        return self._folder

    def delete(self) -> None:
        """Delete all the files. It is safe to call twice."""
        if self._delete is not None:
            self._delete()
        self._folder = None

    def __enter__(self) -> PrivateFiles:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.delete()


def _delete(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a fork leaves the files of its parent alone
        shutil.rmtree(folder, ignore_errors=True)
        forget_folder(folder)
