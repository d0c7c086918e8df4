//! The versioned JSON form of facts and deliveries: the only stored format.
//!
//! A record is one JSON object with the version of its form in `v`. The form is a twin of the
//! domain's values, written down once, and turned into them and back without loss.
//!
//! - **Strict.** A field that is not known, a kind of fact that is not known and a newer version are
//!   errors that say so: a journal that is half understood must not be continued.
//! - **Lossless.** What is decoded equals what was encoded, the order of JSON keys and the raw text of
//!   a model's arguments included.
//! - **Cut.** A store keeps texts of more than [`MAX_TEXT`] bytes beside the record, each once.
//! - **Bounded.** Records nest at most [`MAX_DEPTH`] deep, on the way in as on the way out.
//! - **Without secrets.** No value that holds one is part of a fact, and there is no form for one.
//!
//! *Invariant:* a form that has been stored never changes its meaning. Another form is another version,
//! beside this one.

mod codec;
mod cut;
mod depth;
mod error;
mod recording;
mod v1;

pub use self::codec::{
    VERSION, VOCABULARY, decode_delivery, decode_envelope, decode_wait, encode_delivery,
    encode_envelope, encode_wait,
};
pub use self::cut::{Cut, MAX_TEXT, Part, cut, join};
pub use self::depth::MAX_DEPTH;
pub use self::error::{DecodeError, EncodeError};
pub use self::recording::{Recording, RecordingError};
