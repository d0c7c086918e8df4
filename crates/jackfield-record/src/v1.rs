//! Version 1 of the form.
//!
//! There is one file per concept, each with a list of forms: the lists define what is stored. [`stored`]
//! explains their syntax.

#[macro_use]
pub(crate) mod stored;

mod block;
mod call;
mod directory;
pub(crate) mod fact;
mod failure;
mod media;
mod message;
mod opaque;
mod price;
mod reply;
mod restrictions;
mod scalar;
mod settings;
mod setup;
mod spending;
mod target;
mod tool;
mod wait;
