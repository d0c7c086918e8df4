//! What the demo model says, and how its server says it.

mod asking;
mod clock;
mod conversation;
mod days;
mod http;
mod notes;
mod orders;
mod phrasings;
mod server;
mod shown;
mod talk;
