//! Media in words.

use jackfield_dialect_kit::media_text::{audio, source};
use jackfield_domain::media::{Audio, MediaSource};

use crate::owner;

fn inline() -> MediaSource {
    MediaSource::Base64 {
        media_type: "audio/wav".into(),
        data: "c2VjcmV0".into(),
    }
}

#[test]
fn a_medium_is_told_without_its_bytes_or_its_id() {
    let file = MediaSource::File {
        id: "file_1".into(),
        owner: owner(),
    };
    assert_eq!(source("image", &inline()), "[image of type audio/wav]");
    assert_eq!(source("image", &file), "[image in a file]");
    assert_eq!(
        source("document", &MediaSource::Text("hi".into())),
        "[document: hi]"
    );
    let url = MediaSource::Url("https://x.example/a.png".into());
    assert_eq!(source("image", &url), "[image: https://x.example/a.png]");
}

#[test]
fn a_sound_is_what_is_said_in_it() {
    let sound = |transcript: Option<&str>| {
        audio(&Audio {
            source: inline(),
            transcript: transcript.map(Into::into),
        })
    };
    assert_eq!(sound(Some(" hello ")), "[audio: hello]");
    for nothing in [None, Some(" \n")] {
        assert_eq!(sound(nothing), "[audio of type audio/wav]");
    }
}
