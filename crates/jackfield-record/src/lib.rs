//! The versioned JSON form of facts, deliveries and what stands beside sessions: the only stored format.
//!
//! A record is one JSON object with the version of its form in `v`. The form mirrors the domain's values, is
//! defined once, and converts to and from them without loss.
//!
//! - **Strict.** Unknown fields, unknown kinds of facts and newer versions are distinct errors: a journal that
//!   is only partly understood must not be continued.
//! - **Lossless.** The decoded value equals the encoded one, including the order of JSON keys and the raw text
//!   of a model's arguments.
//! - **Cut.** A store keeps texts of more than [`MAX_TEXT`] bytes beside the record, each once.
//! - **Bounded.** Records nest at most [`MAX_DEPTH`] levels deep, both when encoded and when decoded.
//! - **Without secrets.** Facts contain no values with secrets, and there is no form for them.
//!
//! *Invariant:* a stored form never changes its meaning. A different form is a new version beside this one.

mod codec;
mod cut;
mod depth;
mod error;
mod recording;
mod v1;

pub use self::codec::{
    VERSION, VOCABULARY, decode_delivery, decode_directory_change, decode_envelope, decode_meter,
    decode_spending, decode_wait, encode_delivery, encode_directory_change, encode_envelope,
    encode_meter, encode_spending, encode_wait,
};
pub use self::cut::{Cut, MAX_TEXT, Part, cut, join};
pub use self::depth::MAX_DEPTH;
pub use self::error::{DecodeError, EncodeError};
pub use self::recording::{Recording, RecordingError};
