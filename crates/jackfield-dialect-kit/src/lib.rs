//! What the mappers of every wire language share, so that a new one is only the language itself.
//!
//! Pure: no I/O, no clock, no async, and no word of any vendor's but in [`error_words`]. A dialect maps domain values to its
//! wire types and back; here is what it needs besides:
//!
//! | for | there is |
//! |---|---|
//! | what gets lost on the way | [`Notes`](notes::Notes) |
//! | what cannot be said at all | [`Unsupported`](outgoing::Unsupported) |
//! | what must not get lost | [`check`](strict::check) |
//! | the ids of calls, ours and theirs | [`WireIds`](ids::WireIds), [`ClientIds`](client_ids::ClientIds) |
//! | state that goes back to its owner | [`find`](state::find) |
//! | fields that only the dialect knows | [`set`](pointer::set) |
//! | schemas that are broken, or that a vendor takes in part | [`object`](schema::object), [`Changes`](schema::Changes) |
//! | the rules of schemas themselves, for the vendors' rules | [`faults`](metaschema::faults) |
//! | media where there is no place for them | [`source`](in_words::source) |
//! | numbers and data URLs, as clients write them | [`whole`], [`data_url`] |
//! | a body that is compressed | [`Encoding`](encoding::Encoding) |
//! | a client's request, and where it is broken | [`Incoming`](incoming::Incoming), [`parse`](body::parse) |
//! | an object, and no array in its place | [`objects!`], [`text_or_list`](form::text_or_list) |
//! | what a provider says of a model | [`more`](listing::more) |
//! | an error's kind and advice, and what servers say in errors | [`failure`], [`error_words`] |
//! | a client that is served, errors and streams included | [`ServeDialect`](serve::ServeDialect) |
//! | a reply, whole or in pieces | [`DecodeReply`](decode::DecodeReply), [`SseEvent`](encode::SseEvent) |

pub mod body;
pub mod client_ids;
pub mod data_url;
pub mod decode;
pub mod encode;
pub mod encoding;
pub mod error_words;
pub mod failure;
pub mod form;
pub mod ids;
pub mod in_words;
pub mod incoming;
pub mod listing;
pub mod metaschema;
pub mod notes;
pub mod outgoing;
pub mod pointer;
pub mod same;
pub mod schema;
pub mod serve;
pub mod state;
pub mod strict;
pub mod whole;
