//! Content encodings: decompression of bodies.

use std::io::{self, Read as _};

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;

/// A supported content encoding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Encoding {
    /// `deflate`, which is zlib (RFC 9110).
    Deflate,
    /// `gzip`.
    Gzip,
    /// `zstd`.
    Zstd,
}

impl Encoding {
    /// The encoding in a `content-encoding` header; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The name of an unsupported one, in lower case and with at most 32 characters.
    pub fn from_header(header: &str) -> Result<Option<Self>, String> {
        let named = header.trim().to_ascii_lowercase();
        match named.as_str() {
            "" | "identity" => Ok(None),
            "deflate" => Ok(Some(Self::Deflate)),
            "gzip" | "x-gzip" => Ok(Some(Self::Gzip)),
            "zstd" => Ok(Some(Self::Zstd)),
            _ => Err(named.chars().take(32).collect()),
        }
    }

    /// Decompresses a body. Reads at most one byte more than `most`, so that a longer result shows that there is
    /// more.
    ///
    /// # Errors
    ///
    /// If the data is not in this encoding, or is truncated.
    pub fn decode(self, bytes: &[u8], most: usize) -> io::Result<Vec<u8>> {
        let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let mut decoded = Vec::new();
        match self {
            Self::Deflate => ZlibDecoder::new(bytes).take(most).read_to_end(&mut decoded),
            Self::Gzip => MultiGzDecoder::new(bytes)
                .take(most)
                .read_to_end(&mut decoded),
            Self::Zstd => StreamingDecoder::new(bytes)
                .map_err(|error| io::Error::other(error.to_string()))
                .and_then(|decoder| decoder.take(most).read_to_end(&mut decoded)),
        }?;
        Ok(decoded)
    }
}
