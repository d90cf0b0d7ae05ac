"""Errors that a user can act on. Any other exception is a bug and shows its traceback."""

import errno
from pathlib import Path


class AuditError(Exception):
    """An error that the user can resolve: in the inputs, the folder or the request.

    All errors that guestlist raises on purpose derive from it, except ``ValueError`` for an option out of range. Any other
    exception is a bug.

    Examples:
        >>> try:
        ...     gl.read_results("no_such_folder")
        ... except gl.AuditError as error:
        ...     print(type(error).__name__)
        FolderError
    """


class InputError(AuditError):
    """The records, labels, predictions or the model do not fit together.

    Examples:
        >>> gl.Data(np.zeros((3, 2)), y=np.zeros(4))
        Traceback (most recent call last):
        guestlist.errors.InputError: Records, labels, ids, groups and persons must have the same length; found ...
    """


class FolderError(AuditError):
    """The audit folder is damaged, foreign, or belongs to another audit."""


class WriteError(AuditError):
    """A file cannot be written: the disk is full, access is denied, or a folder is in its place."""


class PathError(AuditError):
    """A path cannot be accessed: access to its folder is denied, or its name is too long."""


class NotCollectedError(AuditError):
    """An attack needs a signal or references that the audit folder does not hold."""


class MissingEvidenceError(NotCollectedError):
    """An attack needs a type of evidence that was not collected."""


class AuditWarning(UserWarning):
    """The audit continues, but a reader of its numbers should know this.

    Examples:
        >>> import warnings
        >>> model, members, nonmembers = gl.testing.small_model()
        >>> nonmembers[0][:20], nonmembers[1][:20] = members[0][:20], members[1][:20]
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     results = gl.audit(model, members, nonmembers, references=0, attacks=["loss"], baseline=False)
        >>> caught[0].category.__name__  # some non-members are members
        'AuditWarning'
        >>> next(check.code for check in results.checks if check.state == "issue")
        'GL101'
    """


def write_error(path: Path, error: OSError) -> WriteError:
    """Return the error for a ``path`` that cannot be written."""
    why, remedy = WRITE_ERROR_REASONS.get(error.errno or 0, (error.strerror or str(error), "Choose another place"))
    return WriteError(f"Cannot write {path}: {why}. {remedy}, then run again: files written before are kept.")


_FULL = ("the disk is full", "Free some space")
_FORBIDDEN = ("permission denied", "Choose another place, or change the permissions")
_IN_THE_WAY = ("a folder or a file of that name exists", "Move it")
WRITE_ERROR_REASONS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: ("your disk quota is used up", "Free some space"),
    errno.EFBIG: ("it exceeds the maximum file size", "Choose another place"),
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: ("the disk is read-only", "Choose another place"),
    errno.EISDIR: _IN_THE_WAY,
    errno.ENOTDIR: _IN_THE_WAY,
    errno.EEXIST: _IN_THE_WAY,
    errno.ENOTEMPTY: _IN_THE_WAY,
    errno.ENAMETOOLONG: ("its name is too long", "Choose a shorter one"),
}
