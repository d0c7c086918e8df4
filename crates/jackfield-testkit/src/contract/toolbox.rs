//! The contract of a toolbox.
