//! List prices of models.
//!
//! A [`Catalogue`] is a text with a line for each model, sorted by name. A price is parsed when it is asked for, so that
//! a catalogue needs no memory beyond its text. [`source`] reads the files of others that it is made of, and [`merge`]
//! makes one of them.

mod catalogue;
mod kinds;
mod line;
pub mod merge;
pub mod source;

pub use self::catalogue::{Catalogue, InvalidCatalogue};
pub use self::line::Listing;
