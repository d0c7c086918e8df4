//! Empty: the slices are in `it/`.
