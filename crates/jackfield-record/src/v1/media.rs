//! Forms of images, documents and audio.

use std::sync::Arc;

use jackfield_domain::media::{Audio, Document, Image, ImageDetail, MediaSource};
use jackfield_domain::opaque::StateOwner;

stored_struct! { Audio as AudioForm { source: MediaSource; maybe transcript: Arc<str> } }

stored_struct! { Document as DocumentForm {
    cite: bool, source: MediaSource; maybe context: Arc<str>, title: Arc<str>
} }

stored_struct! { Image as ImageForm { source: MediaSource; maybe detail: ImageDetail } }

stored_enum! { ImageDetail as ImageDetailForm { Auto, High, Low, Original } }

stored_enum! { MediaSource as MediaSourceForm {
    Base64 { media_type: Arc<str>, data: Arc<str> },
    File { id: Arc<str>, owner: StateOwner },
    Text(text: Arc<str>),
    Url(url: Arc<str>),
} }
