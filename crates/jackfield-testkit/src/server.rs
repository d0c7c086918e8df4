//! A server that sends exactly the bytes it is told to, and breaks off where it is told to.
