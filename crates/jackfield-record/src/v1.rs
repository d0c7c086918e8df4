//! Version 1 of the form.
//!
//! One file per concept, each a list of forms: what is written here is what is stored.
//! [`stored`] says how the lists are read.

#[macro_use]
pub(crate) mod stored;

mod block;
mod call;
pub(crate) mod fact;
mod failure;
mod media;
mod message;
mod opaque;
mod reply;
mod restrictions;
mod scalar;
mod settings;
mod setup;
mod tool;
mod wait;
