//! The page of the gateway: its files with their headers, and Markdown as HTML in which nothing runs.
//!
//! The page is a client of `/api/v1` and of nothing else. Its files are small modules of JavaScript that need no
//! build; they are part of the binary.
//!
//! | module | what it has |
//! |---|---|
//! | `assets` | the files of the page, and the content security policy that they are served with |
//! | `chart` | numbers as SVG |
//! | `code` | code with its tokens in spans |
//! | `formula` | formulas as MathML |
//! | `growing` | the same while it is written |
//! | `markdown` | the text of a model as HTML |

use pulldown_cmark::Options;

mod assets;
pub mod chart;
mod code;
mod formula;
mod growing;
mod markdown;

pub use self::assets::{Asset, POLICY, assets, find};
pub use self::growing::{GrowingText, GrownHtml};
pub use self::markdown::to_html;

/// What a text may have beside `CommonMark`.
pub(crate) const OPTIONS: Options = Options::ENABLE_STRIKETHROUGH
    .union(Options::ENABLE_TABLES)
    .union(Options::ENABLE_TASKLISTS);
