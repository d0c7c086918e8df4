//! List prices: the catalogue, and the files that it is made of.

mod agreed;
mod catalogue;
mod sources;
