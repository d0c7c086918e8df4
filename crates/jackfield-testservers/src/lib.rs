//! Scripted vendor servers for the slices.
