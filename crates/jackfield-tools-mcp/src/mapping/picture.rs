//! The picture of a server.

use std::sync::Arc;

use rmcp::model::Icon;

/// The first picture that is small and has its bytes in its address, so that nothing is fetched for it.
pub(crate) fn picture(icons: &[Icon]) -> Option<Arc<str>> {
    let mut addresses = icons.iter().map(|icon| icon.src.as_str());
    let found = addresses.find(|address| address.len() <= MAX_BYTES && has_bytes(address));
    found.map(Into::into)
}

fn has_bytes(address: &str) -> bool {
    let data = address.strip_prefix("data:").filter(|data| {
        let mut letters = data.bytes();
        letters.all(|letter| letter.is_ascii_graphic() || letter == b' ')
    });
    let kind = data.and_then(|data| data.split([';', ',']).next());
    kind.is_some_and(|kind| KINDS.contains(&kind)) && address.contains(',')
}

const KINDS: [&str; 4] = ["image/jpeg", "image/png", "image/svg+xml", "image/webp"];
/// The longest address of a picture.
const MAX_BYTES: usize = 16 << 10;
