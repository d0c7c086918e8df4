//! Images, documents and audio.

use jackfield_domain::media::{Audio, Document, Image, ImageDetail, MediaSource};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::opaque::state_owner;
use super::text::{text, words};

/// A source of bytes, of this media type where the source names one; plain text only for documents.
pub fn media_source(media_type: &'static str) -> impl Strategy<Value = MediaSource> + Clone {
    let data = select(&["", "iVBORw0KGgo=", "AAECAw=="][..]);
    let url = select(
        &[
            "https://files.example/a?b=c",
            "https://files.example/%E5%9B%BE",
        ][..],
    );
    prop_oneof![
        3 => data.prop_map(move |data| MediaSource::Base64 {
            media_type: media_type.into(),
            data: data.into(),
        }),
        1 => state_owner().prop_map(|owner| MediaSource::File { id: "file_1".into(), owner }),
        1 => url.prop_map(|url| MediaSource::Url(url.into())),
    ]
    .boxed()
}

/// An image.
pub fn image() -> impl Strategy<Value = Image> + Clone {
    let detail = select(
        &[
            ImageDetail::Auto,
            ImageDetail::High,
            ImageDetail::Low,
            ImageDetail::Original,
        ][..],
    );
    (option::of(detail), media_source("image/png"))
        .prop_map(|(detail, source)| Image { detail, source })
        .boxed()
}

/// A document.
pub fn document() -> impl Strategy<Value = Document> + Clone {
    let source = prop_oneof![
        media_source("application/pdf"),
        words().prop_map(MediaSource::Text),
    ];
    (
        any::<bool>(),
        option::of(text()),
        source,
        option::of(text()),
    )
        .prop_map(|(cite, context, source, title)| Document {
            cite,
            context,
            source,
            title,
        })
        .boxed()
}

/// Audio.
pub fn audio() -> impl Strategy<Value = Audio> + Clone {
    (media_source("audio/wav"), option::of(text()))
        .prop_map(|(source, transcript)| Audio { source, transcript })
        .boxed()
}
