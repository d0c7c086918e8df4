//! The values and the loop of Jackfield, without I/O.
