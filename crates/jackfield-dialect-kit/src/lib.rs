//! Shared parts of the dialects' mappers, so that a new dialect only contains its own wire format.
//!
//! Pure: no I/O, no clock, no async, and nothing specific to a vendor except in [`error_patterns`]. A dialect maps
//! domain values to its wire types and back; this crate has what it needs in addition:
//!
//! | purpose | item |
//! |---|---|
//! | notes on losses | [`Notes`](notes::Notes) |
//! | settings that a vendor does not take | [`drop_all_but`](settings::drop_all_but) |
//! | requests that a dialect cannot express, and the place | [`Unsupported`](outgoing::Unsupported), [`BlockPath`](outgoing::BlockPath) |
//! | what stays behind of a conversation | [`losses`](outgoing::losses) |
//! | names of tools, which a vendor may not take | [`NameForm`](outgoing::names::NameForm), [`ReplyTools`](outgoing::names::ReplyTools) |
//! | arguments of calls, results | [`calls`](outgoing::calls), [`results`](outgoing::results) |
//! | the offered tools, text tools | [`tools`](outgoing::tools) |
//! | refusal of unacceptable losses | [`check`](strict::check) |
//! | ids of calls, ours and the client's | [`WireIds`](ids::WireIds), [`ClientIds`](client_ids::ClientIds) |
//! | opaque state of an owner | [`find`](state::find) |
//! | extensions of a dialect | [`apply`](outgoing::extensions::apply), [`set`](pointer::set) |
//! | schemas that need repair, or that a vendor accepts in part | [`object`](schema::object), [`Changes`](schema::Changes) |
//! | the rules of JSON Schema, for the vendors' rules | [`faults`](metaschema::faults) |
//! | text in place of media | [`source`](media_text::source) |
//! | numbers and data URLs in clients' notations | [`whole_number`], [`data_url`] |
//! | compressed bodies | [`Encoding`](encoding::Encoding) |
//! | a client's request, and the place of an error in it | [`Incoming`](incoming::Incoming), [`parse`](body::parse) |
//! | strict deserialization of objects | [`objects!`], [`text_or_list`](form::text_or_list) |
//! | further fields of a model | [`extra_fields`](listing::extra_fields) |
//! | kind and advice of an error, and servers' error messages | [`failure`], [`error_patterns`] |
//! | fields that a refusal names | [`refused`](named_fields::refused) |
//! | serving clients, including errors and streams | [`ServeDialect`](serve::ServeDialect) |
//! | tools for models without any | [`text_tools`] |
//! | what a reply says that it used | [`UsageReports`](usage_reports::UsageReports) |
//! | a reply, whole or streamed | [`DecodeReply`](decode::DecodeReply), [`SseEvent`](encode::SseEvent) |

#![warn(missing_docs)]

pub mod body;
pub mod client_ids;
pub mod data_url;
pub mod decode;
pub mod encode;
pub mod encoding;
pub mod error_patterns;
pub mod failure;
pub mod form;
pub mod ids;
pub mod incoming;
pub mod json_text;
pub mod listing;
pub mod media_text;
pub mod metaschema;
pub mod named_fields;
pub mod notes;
pub mod outgoing;
pub mod pointer;
pub mod schema;
pub mod serve;
pub mod settings;
pub mod state;
pub mod strict;
pub mod text_tools;
pub mod usage_reports;
pub mod whole_number;
