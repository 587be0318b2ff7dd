"""The ``ovos-memory`` command: see, search, correct, take along and forget what memories hold."""
