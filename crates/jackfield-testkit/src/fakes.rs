//! Fakes that are stricter than the world.
