//! Maps a server's response to a tool result: text, JSON, a small image, or a description.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::{Encoding, UTF_8};
use http::StatusCode;
use http::header::CONTENT_ENCODING;
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_provider_kit::guarded::{FetchError, GuardedResponse};
use serde_json::Value;

use crate::hidden::Hidden;
use crate::pointer::{compact, find};

/// The parameters for reading a response.
pub(crate) struct AnswerReader<'a> {
    /// Whether the method excludes a body.
    pub(crate) headless: bool,
    /// The secrets to redact from results.
    pub(crate) hidden: &'a Hidden,
    /// The largest useful result in bytes.
    pub(crate) limit: usize,
    /// The pointer to the part of a JSON response that is the result.
    pub(crate) pointer: Option<&'a str>,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum BodyKind {
    Image,
    Json,
    Other,
    Text,
}

impl AnswerReader<'_> {
    /// Reads a response as far as needed.
    ///
    /// # Errors
    ///
    /// If the body breaks off.
    pub(crate) async fn read(&self, answer: GuardedResponse) -> Result<ToolResult, FetchError> {
        let status = answer.status();
        if !status.is_success() {
            return self.refusal(answer).await;
        }
        if self.headless {
            return Ok(self.cut(self.head(&answer), true));
        }
        if let Some(why) = encoding_error(&answer) {
            return Ok(ToolResult::error(why));
        }
        let media_type = answer.media_type();
        match kind(media_type.as_deref()) {
            BodyKind::Image => self.image(answer, media_type.unwrap_or_default()).await,
            BodyKind::Json => self.json(answer).await,
            BodyKind::Text => self.text(answer).await,
            BodyKind::Other => Ok(ToolResult::error(format!(
                "{} answered with {}, which is not taken: text, JSON and pictures are",
                answer.host(),
                self.redacted_header(media_type.as_deref().unwrap_or("something unnamed")),
            ))),
        }
    }

    /// A response with an error status, with the beginning of its text.
    async fn refusal(&self, answer: GuardedResponse) -> Result<ToolResult, FetchError> {
        let mut message = format!(
            "{} answered {}",
            answer.host(),
            status_text(answer.status())
        );
        if let Some(after) = answer.header("retry-after") {
            message.push_str(&format!(" (retry-after: {})", self.redacted_header(after)));
        }
        let media_type = answer.media_type();
        let readable = matches!(kind(media_type.as_deref()), BodyKind::Json | BodyKind::Text);
        if readable && encoding_error(&answer).is_none() && !self.headless {
            let limit = MAX_REFUSAL.min(self.limit);
            // The status is the result; a body that breaks off only provides fewer details.
            if let Ok((text, whole)) = self.body(answer, limit).await
                && !text.trim().is_empty()
            {
                let more = if whole { "" } else { " […]" };
                message.push_str(&format!(":\n{}{more}", text.trim()));
            }
        }
        let result = ToolResult::error(message);
        Ok(result.cut(self.limit).unwrap_or(result))
    }

    /// The result of a HEAD request.
    fn head(&self, answer: &GuardedResponse) -> String {
        let mut text = status_text(answer.status());
        for name in HEAD_HEADERS {
            if let Some(value) = answer.header(name) {
                text.push_str(&format!("\n{name}: {}", self.redacted_header(value)));
            }
        }
        text
    }

    async fn text(&self, answer: GuardedResponse) -> Result<ToolResult, FetchError> {
        let status = answer.status();
        let (text, whole) = self.body(answer, self.limit).await?;
        if text.is_empty() && whole {
            let message = format!("{}, and nothing else", status_text(status));
            return Ok(ToolResult::text(message));
        }
        Ok(self.cut(text, whole))
    }

    async fn json(&self, answer: GuardedResponse) -> Result<ToolResult, FetchError> {
        let (host, status) = (answer.host().to_owned(), answer.status());
        // The pointer's target may be small within a large body.
        let limit = match self.pointer {
            Some(_) => MAX_SEARCHED.max(self.limit),
            None => self.limit,
        };
        let (text, whole) = self.body(answer, limit).await?;
        if text.trim().is_empty() && whole {
            let message = format!("{}, and nothing else", status_text(status));
            return Ok(ToolResult::text(message));
        }
        let text = match self.pointer {
            None if !whole => return Ok(self.cut(text, whole)),
            None => text,
            Some(_) if !whole => {
                let why = format!("is longer than the {limit} bytes that are read of it");
                return Ok(ToolResult::error(format!("the answer of {host} {why}")));
            }
            Some(pointer) => match find(&text, pointer) {
                Ok(Some(part)) => match serde_json::from_str::<String>(part.get()) {
                    Ok(text) => return Ok(self.cut(self.hidden.redact(&text), true)),
                    // Keeps the original formatting of numbers.
                    Err(_) => compact(part.get()),
                },
                Ok(None) => {
                    let result = ToolResult::error(format!(
                        "the answer of {host} has no `{pointer}`: {text}"
                    ));
                    return Ok(result.cut(self.limit).unwrap_or(result));
                }
                Err(error) => {
                    let result = ToolResult::error(format!(
                        "the answer of {host} is not JSON, whatever it calls itself ({error})"
                    ));
                    return Ok(result);
                }
            },
        };
        // A structured value larger than a result would be dropped anyway.
        let short = text.len() <= self.limit;
        let json = short.then(|| serde_json::from_str::<Value>(&text).ok());
        let json = json
            .flatten()
            .filter(|json| json.is_object() || json.is_array());
        let structured = json.map(|json| {
            let json = if self.hidden.is_empty() {
                json
            } else {
                self.hidden.redact_json(json)
            };
            Arc::new(json)
        });
        let result = ToolResult {
            structured,
            ..ToolResult::text(text)
        };
        Ok(result.cut(self.limit).unwrap_or(result))
    }

    async fn image(
        &self,
        answer: GuardedResponse,
        media_type: String,
    ) -> Result<ToolResult, FetchError> {
        let host = answer.host().to_owned();
        let limit = self.limit.min(MAX_IMAGE) / 4 * 3;
        let body = answer.read(limit).await?;
        if !body.whole {
            return Ok(ToolResult::error(format!(
                "the picture of {host} is larger than {limit} bytes, which is too large"
            )));
        }
        let source = MediaSource::Base64 {
            media_type: media_type.into(),
            data: STANDARD.encode(&body.bytes).into(),
        };
        Ok(ToolResult {
            content: vec![OutcomePart::Image(Image {
                detail: None,
                source,
            })],
            ..ToolResult::default()
        })
    }

    /// The body as text without secrets, and whether it is complete.
    async fn body(
        &self,
        answer: GuardedResponse,
        limit: usize,
    ) -> Result<(String, bool), FetchError> {
        let charset = charset(answer.header("content-type"));
        let read = answer.read(limit).await?;
        let (text, _, _) = charset.decode(&read.bytes);
        if read.whole {
            return Ok((self.hidden.redact(&text), true));
        }
        Ok((self.hidden.redact_partial(&text, limit), false))
    }

    /// A text cut to the useful length, with a marker.
    fn cut(&self, text: String, whole: bool) -> ToolResult {
        let result = ToolResult::text(text);
        if whole {
            return result.cut(self.limit).unwrap_or(result);
        }
        let marker = format!(
            "[cut: more than {0} bytes were returned, at most {0} are shown]",
            self.limit
        );
        let mut result = result;
        result.content.push(OutcomePart::Text(marker.into()));
        result
    }

    /// A header's value without secrets, shortened.
    fn redacted_header(&self, text: &str) -> String {
        let text = self.hidden.redact(text);
        if text.len() <= MAX_HEADER {
            return text;
        }
        format!("{}…", self.hidden.redact_partial(&text, MAX_HEADER))
    }
}

/// Why a body cannot be read: it has a content encoding that was not requested.
fn encoding_error(answer: &GuardedResponse) -> Option<String> {
    let encoding = answer.header(CONTENT_ENCODING.as_str())?;
    (!encoding.eq_ignore_ascii_case("identity")).then(|| {
        format!(
            "{} answered with a compressed body, which is not taken",
            answer.host()
        )
    })
}

fn kind(media_type: Option<&str>) -> BodyKind {
    let Some(media_type) = media_type else {
        // Without a media type, the body is treated as text.
        return BodyKind::Text;
    };
    if IMAGES.contains(&media_type) {
        return BodyKind::Image;
    }
    if media_type.ends_with("/json") || media_type.ends_with("+json") {
        return BodyKind::Json;
    }
    if media_type.starts_with("text/")
        || media_type.ends_with("+xml")
        || TEXTS.contains(&media_type)
    {
        return BodyKind::Text;
    }
    BodyKind::Other
}

/// The character encoding of a text: by its media type (WHATWG Encoding), or else UTF-8.
fn charset(content_type: Option<&str>) -> &'static Encoding {
    let mut parameters = content_type.unwrap_or_default().split(';').skip(1);
    let charset = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let named = name.trim().eq_ignore_ascii_case("charset");
        named.then(|| value.trim().trim_matches('"').trim())
    });
    let known = charset.and_then(|charset| Encoding::for_label(charset.as_bytes()));
    known.unwrap_or(UTF_8)
}

fn status_text(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// Image types that every provider accepts.
const IMAGES: &[&str] = &["image/gif", "image/jpeg", "image/png", "image/webp"];
/// The longest quoted header value in bytes.
const MAX_HEADER: usize = 200;
/// The largest image in base64, in bytes; about the limit of providers.
const MAX_IMAGE: usize = 4 << 20;
/// The longest quoted error message of a server, in bytes.
const MAX_REFUSAL: usize = 4 << 10;
/// The largest JSON response in which a pointer's target is searched, in bytes.
const MAX_SEARCHED: usize = 8 << 20;
/// Media types of text other than `text/*`.
const TEXTS: &[&str] = &[
    "application/javascript",
    "application/toml",
    "application/x-ndjson",
    "application/xml",
    "application/yaml",
];
/// The headers in the result of a HEAD request.
const HEAD_HEADERS: &[&str] = &["content-length", "content-type", "etag", "last-modified"];
