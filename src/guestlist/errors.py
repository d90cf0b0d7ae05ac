"""What a user can act on. Anything else that is raised is a bug and shows its traceback."""


class AuditError(Exception):
    """Something about the inputs, the folder or the request that the user can put right."""


class InputError(AuditError):
    """The records, labels, predictions or the model do not fit together."""


class FolderError(AuditError):
    """The audit folder is damaged, foreign, or belongs to another audit."""


class NotCollectedError(AuditError):
    """An attack needs a signal or references that the audit folder does not hold."""


class MissingEvidenceError(NotCollectedError):
    """An attack looks at a kind of evidence that was not collected."""


class AuditWarning(UserWarning):
    """The audit goes on, but a reader of its numbers should know this."""
