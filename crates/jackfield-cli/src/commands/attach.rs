//! Attachments of a question: files, images, tags, and the schema of the answer.

use std::io::ErrorKind::FileTooLarge;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_assembly::read_at_most;
use jackfield_domain::block::{Block, Content};
use jackfield_domain::caller::tags::{MAX_VALUE, Tag, TagNames};
use jackfield_domain::media::{Document, Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::settings::ResponseFormat;
use jackfield_engine::image_type;
use serde_json::Value;

use crate::exit::Exit;
use crate::fault::CommandError;
use crate::question;

/// The blocks of these files and images, in order. The type of a file is detected from its content, not from its
/// name.
///
/// # Errors
///
/// [`CommandError`] if one cannot be read, is too large, or has an unsupported type.
pub(crate) fn read(files: &[PathBuf], images: &[PathBuf]) -> Result<Vec<Block>, CommandError> {
    let mut left = MAX_TOTAL;
    let mut blocks = Vec::new();
    let all = files.iter().map(|file| (file, false));
    for (path, only_image) in all.chain(images.iter().map(|image| (image, true))) {
        let bytes = bytes(path, LIMIT)?;
        left = left.checked_sub(bytes.len()).ok_or_else(|| {
            let message = format!("the files are larger than {} MB together", mega(MAX_TOTAL));
            CommandError::new(Exit::Usage, message).with_help(SMALLER)
        })?;
        blocks.push(block(path, bytes, only_image)?);
    }
    Ok(blocks)
}

/// A message of these blocks followed by the question, the order in which models answer best.
pub(crate) fn message(mut blocks: Vec<Block>, question: &str) -> Message {
    if !question.is_empty() || blocks.is_empty() {
        blocks.push(Block::text(question));
    }
    Message::new(Role::User, blocks)
}

/// The response format with the JSON Schema in this file.
///
/// # Errors
///
/// [`CommandError`] if the file cannot be read, or contains no JSON object.
pub(crate) fn schema(path: &Path) -> Result<ResponseFormat, CommandError> {
    let wrong = || {
        let message = format!(
            "`{}` is no JSON Schema: a JSON object was expected",
            path.display()
        );
        let help = r#"a schema is an object such as {"type": "object", "properties": {…}}"#;
        CommandError::new(Exit::Usage, message).with_help(help)
    };
    let bytes = bytes(path, MAX_SCHEMA)?;
    let schema: Value =
        serde_json::from_slice(&bytes).map_err(|error| wrong().with_cause(&error))?;
    if !schema.is_object() {
        return Err(wrong());
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    let stem = stem.as_deref().unwrap_or_default();
    let stem = stem.strip_suffix(".schema").unwrap_or(stem);
    let fits = |sign: &char| sign.is_ascii_alphanumeric() || "_-".contains(*sign);
    let name: String = stem.chars().filter(fits).take(MAX_NAME).collect();
    Ok(ResponseFormat::JsonSchema {
        description: None,
        name: if name.is_empty() {
            "response".into()
        } else {
            name.into()
        },
        schema: Arc::new(schema),
        strict: None,
    })
}

/// The tags of these arguments.
///
/// # Errors
///
/// [`CommandError`] if one cannot be recorded.
pub(crate) fn tags(given: &[String], names: &TagNames) -> Result<Vec<Tag>, CommandError> {
    let mut pairs = Vec::new();
    for given in given {
        let pair = given
            .split_once('=')
            .filter(|(name, value)| names.admits(name, value));
        pairs.push(pair.ok_or_else(|| {
            let message = format!(
                "--tag {given}: NAME=VALUE is expected, with a name of `tags.names` and a value of at most {MAX_VALUE} \
                 characters"
            );
            let listed: Vec<&str> = names.iter().collect();
            let help = if listed.is_empty() {
                "list the name in the configuration, such as `[tags]` with `names = [\"team\"]`".to_owned()
            } else {
                format!("the names are {}", listed.join(", "))
            };
            CommandError::new(Exit::Usage, message).with_help(help)
        })?);
    }
    Ok(names.tags(pairs))
}

fn block(path: &Path, bytes: Vec<u8>, only_image: bool) -> Result<Block, CommandError> {
    let shown = path.display();
    if let Some(media_type) = image_type(&bytes) {
        let source = base64(media_type, &bytes);
        let image = Image {
            detail: None,
            source,
        };
        return Ok(Content::Image(image).into());
    }
    if only_image {
        let message = format!("`{shown}` is no image that models read");
        let help = "give a PNG, JPEG, GIF or WebP, or what is no image with --file";
        return Err(CommandError::new(Exit::Usage, message).with_help(help));
    }
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    if bytes.starts_with(b"%PDF-") {
        let document = Document {
            cite: false,
            context: None,
            source: base64("application/pdf", &bytes),
            title: name.map(Into::into),
        };
        return Ok(Content::Document(document).into());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("`{shown}` is neither text nor PDF nor image: byte {at} is no UTF-8");
        let help = question::text_help(error.as_bytes());
        CommandError::new(Exit::Usage, message).with_help(help)
    })?;
    // The name must not close the tag that it stands in.
    let name = name.unwrap_or_default().replace(['"', '<', '>', '\n'], "_");
    let text = text.trim_end();
    Ok(Block::text(format!(
        "<file name=\"{name}\">\n{text}\n</file>"
    )))
}

fn base64(media_type: &str, bytes: &[u8]) -> MediaSource {
    MediaSource::Base64 {
        data: STANDARD.encode(bytes).into(),
        media_type: media_type.into(),
    }
}

/// Reads a whole file up to this size.
fn bytes(path: &Path, most: usize) -> Result<Vec<u8>, CommandError> {
    let shown = path.display();
    read_at_most(path, most as u64).map_err(|error| {
        if error.kind() == FileTooLarge {
            let message = format!("`{shown}` is larger than {} MB", mega(most));
            return CommandError::new(Exit::Usage, message).with_help(SMALLER);
        }
        if path.is_dir() {
            let message = format!("`{shown}` is a folder, and only files can be sent");
            let help = "name the files in it, each with --file, or pipe them in: `cat FOLDER/*.md | jackfield ask …`";
            return CommandError::new(Exit::Usage, message).with_help(help);
        }
        let fault = CommandError::new(Exit::Usage, format!("`{shown}` cannot be read"));
        fault
            .with_cause(&error)
            .with_help("name a file that is there and that you may read")
    })
}

const fn mega(bytes: usize) -> usize {
    bytes / 1_000_000
}

/// The maximum length of a response format's name, in characters.
const MAX_NAME: usize = 64;
/// The maximum size of a file, in bytes.
const LIMIT: usize = 10_000_000;
/// The maximum size of all files together, in bytes: no provider takes more than 32 MB in a request (2026-11),
/// and base64 makes the files a third larger.
pub(crate) const MAX_TOTAL: usize = 23_000_000;
/// The maximum size of a schema, in bytes.
const MAX_SCHEMA: usize = 1_000_000;
/// Help for files that are too large.
const SMALLER: &str = "make it smaller, or send a part: no model reads that much at once";
