//! The files of the page, compressed once.

use std::io::Write as _;
use std::sync::LazyLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

/// A file of the page.
#[derive(Clone, Debug)]
pub struct Asset {
    pub bytes: &'static [u8],
    /// Its bytes with gzip.
    pub compressed: Vec<u8>,
    pub content_type: &'static str,
    /// Its version, as the value of the header `ETag`.
    pub etag: String,
    /// Its path, from the root of the gateway.
    pub path: &'static str,
}

/// The file of this path.
#[must_use]
pub fn find(path: &str) -> Option<&'static Asset> {
    assets().iter().find(|asset| asset.path == path)
}

#[must_use]
pub fn assets() -> &'static [Asset] {
    static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| FILES.iter().map(asset).collect());
    &ASSETS
}

fn asset((path, content_type, bytes): &(&'static str, &'static str, &'static [u8])) -> Asset {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let compressed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    let digest = Sha256::digest(bytes);
    let version: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Asset {
        bytes,
        compressed: compressed.unwrap_or_default(),
        content_type,
        etag: format!("\"{version}\""),
        path,
    }
}

/// The content security policy of the page: it loads and asks nothing but this gateway, shows pictures only from data
/// that it has, runs no script of a text, and is in no frame.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                          connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                          require-trusted-types-for 'script'; trusted-types jackfield-html jackfield-worker";

const CSS: &str = "text/css; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! file {
    ($name:literal, $kind:ident) => {
        (
            concat!("/ui/", $name),
            $kind,
            include_bytes!(concat!("page/", $name)),
        )
    };
}

/// Path, media type and bytes of each file.
const FILES: &[(&str, &str, &[u8])] = &[
    ("/", HTML, include_bytes!("page/index.html")),
    file!("api.js", JS),
    file!("approvals.js", JS),
    file!("attachments.js", JS),
    file!("budgets.js", JS),
    file!("composer.js", JS),
    file!("connect.js", JS),
    file!("conversation.js", JS),
    file!("doctor.js", JS),
    file!("dom.js", JS),
    file!("drafts.js", JS),
    file!("event_stream.js", JS),
    file!("event_worker.js", JS),
    file!("failure.js", JS),
    file!("find_bar.js", JS),
    file!("form.js", JS),
    file!("hidden.js", JS),
    file!("history.js", JS),
    file!("icon.svg", SVG),
    file!("icons.js", JS),
    file!("import_conversations.js", JS),
    file!("keys.js", JS),
    file!("keys_help.js", JS),
    file!("languages.js", JS),
    file!("limits.js", JS),
    file!("login.js", JS),
    file!("main.js", JS),
    file!("notices.js", JS),
    file!("own.js", JS),
    file!("page.css", CSS),
    file!("parts.js", JS),
    file!("people.js", JS),
    file!("person.js", JS),
    file!("prompt_menu.js", JS),
    file!("question.js", JS),
    file!("reply_text.js", JS),
    file!("routes.js", JS),
    file!("section.js", JS),
    file!("server_sign_in.js", JS),
    file!("servers.js", JS),
    file!("session_list.js", JS),
    file!("session_menu.js", JS),
    file!("session_options.js", JS),
    file!("storage.js", JS),
    file!("texts/en.js", JS),
    file!("texts/more/en.js", JS),
    file!("texts/more/ru.js", JS),
    file!("texts/more/zh.js", JS),
    file!("texts/ru.js", JS),
    file!("texts/zh.js", JS),
    file!("timeline.js", JS),
    file!("tool_card.js", JS),
    file!("tool_choice.js", JS),
    file!("turn.js", JS),
    file!("usage.js", JS),
    file!("value.js", JS),
    file!("versions.js", JS),
    file!("zip.js", JS),
];
