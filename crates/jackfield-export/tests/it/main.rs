//! The tests of the documents of a session that need no session: those that do stand with the command line.

mod redacting;
