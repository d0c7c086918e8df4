//! Data URLs and media types, as clients write them.

/// The contents of a data URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DataUrl<'u> {
    /// The bytes in base64.
    pub data: &'u str,
    /// The media type in the form that vendors accept: see [`media_type`].
    pub media_type: String,
}

/// The contents of a data URL; `None` for another URL, and `Some(None)` if it is not in base64. Case is ignored
/// (RFC 2397, RFC 3986), and so are parameters such as the character set.
#[must_use]
pub fn read(url: &str) -> Option<Option<DataUrl<'_>>> {
    let rest = after(url)?;
    let inline = || {
        let (head, data) = rest.split_once(',')?;
        let (named, encoding) = head.rsplit_once(';')?;
        let is_base64 = encoding.trim().eq_ignore_ascii_case("base64");
        is_base64.then(|| DataUrl {
            data,
            media_type: media_type(named),
        })
    };
    Some(inline())
}

/// Whether a URL is a data URL.
#[must_use]
pub fn is_one(url: &str) -> bool {
    after(url).is_some()
}

/// A media type in the form that vendors accept: in lower case, without parameters, and with its registered name.
#[must_use]
pub fn media_type(named: &str) -> String {
    let bare = named.split(';').next().unwrap_or_default();
    let named = bare.trim().to_ascii_lowercase();
    match named.as_str() {
        // Not registered, but common.
        "image/jpg" | "image/pjpeg" => "image/jpeg".to_owned(),
        _ => named,
    }
}

fn after(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(rest)
}

const SCHEME: &str = "data:";
