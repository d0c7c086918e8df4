//! Images, documents and sounds, and where their bytes are.

use std::sync::Arc;

use crate::opaque::StateOwner;

/// Where the bytes of a medium are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MediaSource {
    /// Here, in base64, as every wire language wants them.
    Base64 {
        /// The media type, such as `image/png`.
        media_type: Arc<str>,
        /// The bytes in standard base64 with padding.
        data: Arc<str>,
    },
    /// Uploaded to a provider before; only it knows the id.
    File {
        /// The provider's id of the file.
        id: Arc<str>,
        /// Whose file it is.
        owner: StateOwner,
    },
    /// Here, as plain text: documents only.
    Text(Arc<str>),
    /// Somewhere the provider fetches it from.
    Url(Arc<str>),
}

/// How closely a model should look at an image.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ImageDetail {
    /// As the provider likes.
    Auto,
    /// Closely.
    High,
    /// Roughly, at less cost.
    Low,
    /// Without any scaling.
    Original,
}

/// A picture.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Image {
    /// How closely to look; `None` leaves it to the provider.
    pub detail: Option<ImageDetail>,
    /// The bytes.
    pub source: MediaSource,
}

/// A document: a PDF, a text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Document {
    /// Whether the model should cite it.
    pub cite: bool,
    /// What the model is told about it, outside its text.
    pub context: Option<Arc<str>>,
    /// The bytes.
    pub source: MediaSource,
    /// Its title or file name.
    pub title: Option<Arc<str>>,
}

/// A sound.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Audio {
    /// The bytes.
    pub source: MediaSource,
    /// What is said in it, if known.
    pub transcript: Option<Arc<str>>,
}
