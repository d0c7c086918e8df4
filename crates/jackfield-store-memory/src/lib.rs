//! A journal in memory, encoded as a stored one would be.
