//! The scripted servers are tested before anything is tested with them.

mod breaking;
mod checking;
mod http;
mod program;
mod remembering;
mod saying;
