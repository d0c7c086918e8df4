//! Notes, private and shared, with full-text search in one SQLite file.
//!
//! A [`Notebook`] is a file, and [`Notes`] its tools for one person. A person sees own notes with the private tools,
//! and what others have shared with the shared ones; nothing else can be found, listed or read.
//!
//! | module | what it does |
//! |---|---|
//! | `words` | which words of a text are found, and by which searches |
//! | `notebook` | the file: notes, readers and the index of words |
//! | `toolbox` | the tools |

mod notebook;
mod toolbox;
mod words;

pub use self::notebook::{NewNote, Notebook, NotebookError, Scope, StoredNote};
pub use self::toolbox::Notes;

/// What the tests of this crate look at, beside what is public.
#[doc(hidden)]
pub mod for_tests {
    pub use crate::notebook::query;
}
