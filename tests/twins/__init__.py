"""The slow twins: plain loops that share no helper with the fast routines they judge."""
