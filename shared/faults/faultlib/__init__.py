"""What the fault tests share: kinds of memories, processes to kill, and the account of what happened."""
