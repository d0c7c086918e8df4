//! Images, documents and audio, and the location of their bytes.

use std::sync::Arc;

use crate::opaque::StateOwner;

/// The location of a medium's bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MediaSource {
    /// Inline, in base64, as all wire protocols require.
    Base64 {
        /// The media type, such as `image/png`.
        media_type: Arc<str>,
        /// The bytes in standard base64 with padding.
        data: Arc<str>,
    },
    /// Uploaded to a provider earlier; only that provider knows the id.
    File {
        /// The provider's id of the file.
        id: Arc<str>,
        /// The owner of the file.
        owner: StateOwner,
    },
    /// Inline, as plain text; for documents only.
    Text(Arc<str>),
    /// A URL from which the provider fetches it.
    Url(Arc<str>),
}

/// The resolution at which a model should view an image.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ImageDetail {
    /// The provider chooses.
    Auto,
    /// High.
    High,
    /// Low, at less cost.
    Low,
    /// Without scaling.
    Original,
}

/// An image.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Image {
    /// The resolution; `None` leaves it to the provider.
    pub detail: Option<ImageDetail>,
    /// The bytes.
    pub source: MediaSource,
}

/// A document: a PDF or text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Document {
    /// Whether the model should cite it.
    pub cite: bool,
    /// Context for the model, outside the document's text.
    pub context: Option<Arc<str>>,
    /// The bytes.
    pub source: MediaSource,
    /// Its title or file name.
    pub title: Option<Arc<str>>,
}

/// Audio.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Audio {
    /// The bytes.
    pub source: MediaSource,
    /// The transcript, if known.
    pub transcript: Option<Arc<str>>,
}
