//! The tags that a request brings, in any language, whether it becomes a turn or is passed through.

use std::borrow::Cow;

use http::HeaderMap;
use jackfield_domain::caller::tags::{MAX_TAGS, Tag, TagNames};

use super::json::{self, Member};
use crate::gateway::Gateway;

impl Gateway {
    /// The tags of a request that the configuration names. What cannot be a tag is dropped and logged, and is no fault
    /// of the request: its client may have sent it for its own use.
    ///
    /// Of several values of a name, the first one counts, in this order: the header `X-Jackfield-Tags`, the member
    /// `metadata` of the body, and then what the headers of Claude Code and the end user say.
    pub(crate) fn tags(&self, header: &dyn Fn(&str) -> Option<String>, body: &[u8]) -> Vec<Tag> {
        let names = &self.config().tags;
        // Without names, the body is not read for them.
        let body = std::str::from_utf8(body).ok().filter(|_| !names.is_empty());
        let members = body.and_then(json::members);
        let members = members.unwrap_or_default();
        let metadata = json::only(&members, "metadata");
        let metadata = metadata.and_then(|metadata| json::members(metadata.value));
        let metadata = metadata.unwrap_or_default();
        let named = metadata.iter().map(|member| {
            let value = names.get(&member.key);
            let value = value.and_then(|_| json::string(member.value));
            (&*member.key, value.unwrap_or_default())
        });
        let end_user = end_user(&members, &metadata);
        let own = header(HEADER).unwrap_or_default();
        gather(names, &own, header, named, end_user.as_deref())
    }

    /// The tags of a request with these headers, whose body says `named`, and its end user.
    #[must_use]
    pub fn tags_of_headers<'a>(
        &self,
        headers: &HeaderMap,
        named: impl IntoIterator<Item = (&'a str, &'a str)>,
        end_user: Option<&str>,
    ) -> Vec<Tag> {
        let named = named.into_iter();
        let named = named.map(|(name, value)| (name, value.into()));
        let header = header_of(headers);
        let own = header(HEADER).unwrap_or_default();
        gather(&self.config().tags, &own, &header, named, end_user)
    }
}

/// The text of a header, whose list may be spread over several lines.
pub(super) fn header_of(headers: &HeaderMap) -> impl Fn(&str) -> Option<String> {
    |name| {
        let values = headers.get_all(name).iter();
        let values = values.map(|value| String::from_utf8_lossy(value.as_bytes()));
        let values: Vec<_> = values.collect();
        (!values.is_empty()).then(|| values.join(","))
    }
}

/// The tags by all that a request says of them: the header `own`, others, and `named` in the body.
fn gather<'a>(
    names: &TagNames,
    own: &'a str,
    header: &dyn Fn(&str) -> Option<String>,
    named: impl Iterator<Item = (&'a str, Cow<'a, str>)>,
    end_user: Option<&'a str>,
) -> Vec<Tag> {
    let own = pairs(own).map(|(name, value)| (name, Cow::Borrowed(value)));
    let clients = CLIENT_HEADERS.iter();
    let clients = clients.filter_map(|(name, source)| Some((*name, Cow::Owned(header(source)?))));
    let user = end_user.map(|user| ("user", Cow::Borrowed(user)));
    // These have other uses, too.
    let implied = clients.chain(user);
    let implied = implied.filter(|(name, _)| names.get(name).is_some());
    let mut dropped: Vec<String> = Vec::new();
    let pairs = own.chain(named).chain(implied).filter(|(name, value)| {
        let is_tag = names.admits(name, value);
        if !is_tag && dropped.len() < MAX_TAGS {
            dropped.push(name.trim().chars().take(MAX_LOGGED).collect());
        }
        is_tag
    });
    let pairs: Vec<_> = pairs.collect();
    if !dropped.is_empty() {
        tracing::debug!(names = ?dropped, "what cannot be a tag of a request was dropped");
    }
    names.tags(pairs)
}

/// The pairs of `X-Jackfield-Tags`: `team=search, feature=summary`. Of a longer text, the pairs that end within
/// [`MAX_HEADER`] are read.
fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let end = text.floor_char_boundary(MAX_HEADER);
    let read = match text.get(..end) {
        Some(whole) if whole.len() == text.len() => whole,
        Some(cut) => cut.rsplit_once(',').map_or("", |(whole, _)| whole),
        None => "",
    };
    read.split(',').filter_map(|pair| pair.split_once('='))
}

/// The end user, as clients of OpenAI and of Claude name it.
fn end_user<'a>(members: &[Member<'a>], metadata: &[Member<'a>]) -> Option<Cow<'a, str>> {
    let text = |members: &[Member<'a>], key| json::string(json::only(members, key)?.value);
    text(members, "safety_identifier")
        .or_else(|| text(members, "user"))
        .or_else(|| text(metadata, "user_id"))
}

/// The header with the tags.
const HEADER: &str = "x-jackfield-tags";
/// How much of the name of a tag that is dropped is logged, in characters.
const MAX_LOGGED: usize = 32;
/// The maximum length of what is read of it, in bytes.
const MAX_HEADER: usize = 4096;
/// The tags that the headers of Claude Code stand for (its gateway protocol, read 2026-11).
const CLIENT_HEADERS: [(&str, &str); 3] = [
    ("agent", "x-claude-code-agent-id"),
    ("class", "x-claude-code-request-class"),
    ("session", "x-claude-code-session-id"),
];
