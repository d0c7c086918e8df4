//! The kinds of opaque state in this dialect, and how to read them.

pub(crate) use jackfield_dialect_kit::state::find;
use jackfield_domain::block::OpaqueBlock;
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use serde_json::{Value, json};

use crate::{DIALECT, wire};

/// The signature of a part: an object with the signature as its `id`, which is empty for thoughts without one. A client
/// needs it before the text of the part, which [`OpaqueState::initial_state`] makes possible.
pub(crate) const SIGNATURE: &str = "thought_signature";
/// The fields of the reply beside its parts, such as sources and ratings: an object.
pub(crate) const CANDIDATE: &str = "candidate";

/// What stands in the place of a signature that was never there (Gemini API documentation, thought signatures,
/// 2026-11): the answers are worse without one.
pub(crate) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The state of this kind from any owner of this dialect, which a client of the dialect may see.
pub(crate) fn of_dialect<'a>(states: &'a [OpaqueState], kind: &str) -> Option<&'a Value> {
    jackfield_dialect_kit::state::of_dialect(states, DIALECT, kind)
}

/// The signature for a client.
pub(crate) fn signature(states: &[OpaqueState]) -> Option<String> {
    let signature = of_dialect(states, SIGNATURE).and_then(signature_of);
    signature.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The signature in the value of such a state.
pub(crate) fn signature_of(json: &Value) -> Option<&str> {
    json.get("id")?.as_str()
}

pub(crate) fn signed(owner: &StateOwner, signature: &str) -> OpaqueState {
    OpaqueState {
        kind: SIGNATURE.into(),
        json: json!({ "id": signature }),
        owner: owner.clone(),
        scope: StateScope::Block,
    }
}

/// A part of this dialect in its owner's form: one that the mappers do not handle.
pub(crate) fn part_of(opaque: &OpaqueBlock) -> Option<wire::Part> {
    if *opaque.owner.dialect != *DIALECT {
        return None;
    }
    let part: wire::Part = serde_json::from_value(opaque.json.clone()).ok()?;
    (unknown_kind(&part).as_deref() == Some(&*opaque.kind)).then_some(part)
}

/// The kind of a part that the mappers do not handle: the name of its data; `None` for one that they do.
pub(crate) fn unknown_kind(part: &wire::Part) -> Option<String> {
    let is_known =
        part.text.is_some() || part.function_call.is_some() || part.function_response.is_some();
    if is_known {
        return None;
    }
    let media_type = part
        .inline_data
        .as_ref()
        .map(|blob| ("inlineData", Some(&blob.mime_type)));
    let file = part.file_data.as_ref();
    let media = media_type.or_else(|| file.map(|file| ("fileData", file.mime_type.as_ref())));
    if let Some((name, media_type)) = media {
        let kind = media_type.map(|text| jackfield_dialect_kit::data_url::media_type(text));
        let is_known = kind.is_none_or(|kind| crate::media::MediaKind::of(&kind).is_some());
        return (!is_known).then(|| name.to_owned());
    }
    let fields = part.extra.iter();
    let mut data =
        fields.filter(|(key, json)| json.is_object() && !DESCRIBING.contains(&key.as_str()));
    data.next().map(|(key, _)| key.clone())
}

/// Fields of a part that describe its data, and are none themselves.
const DESCRIBING: [&str; 7] = [
    "audioMetadata",
    "documentMetadata",
    "mediaResolution",
    "partMetadata",
    "speechMetadata",
    "spreadsheetMetadata",
    "videoMetadata",
];
