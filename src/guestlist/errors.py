"""Errors that a user can act on. Any other exception is a bug and shows its traceback."""

import errno
from pathlib import Path


class AuditError(Exception):
    """Something about the inputs, the folder or the request that the user can put right."""


class InputError(AuditError):
    """The records, labels, predictions or the model do not fit together."""


class FolderError(AuditError):
    """The audit folder is damaged, foreign, or belongs to another audit."""


class WriteError(AuditError):
    """A file cannot be written: the disk is full, access is denied, or a folder is in its place."""


class PathError(AuditError):
    """A path cannot be accessed: access to its folder is denied, or its name is too long."""


class NotCollectedError(AuditError):
    """An attack needs a signal or references that the audit folder does not hold."""


class MissingEvidenceError(NotCollectedError):
    """An attack looks at a kind of evidence that was not collected."""


class AuditWarning(UserWarning):
    """The audit goes on, but a reader of its numbers should know this."""


def write_error(path: Path, error: OSError) -> WriteError:
    """Return the error for a ``path`` that cannot be written."""
    why, remedy = WRITE_ERROR_REASONS.get(error.errno or 0, (error.strerror or str(error), "Choose another place"))
    return WriteError(f"{path} cannot be written: {why}. {remedy}, and run again: what was written before is kept.")


_FULL = ("the disk is full", "Make room")
_FORBIDDEN = ("you may not write there", "Choose another place, or have it allowed")
_IN_THE_WAY = ("a folder or a file stands in its way", "Move that away")
WRITE_ERROR_REASONS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: ("your share of the disk is used up", "Make room"),
    errno.EFBIG: ("it would be larger than a file may be here", "Choose another place"),
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: ("the disk can only be read", "Choose another place"),
    errno.EISDIR: _IN_THE_WAY,
    errno.ENOTDIR: _IN_THE_WAY,
    errno.EEXIST: _IN_THE_WAY,
    errno.ENOTEMPTY: _IN_THE_WAY,
    errno.ENAMETOOLONG: ("its name is too long", "Choose a shorter one"),
}
