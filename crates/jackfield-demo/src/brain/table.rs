//! The answers as a table in Markdown.

use super::DemoResult;
use super::language::Language;
use super::text::{first_of, lower};
use super::{answer, words};

/// The results as a table, if the text asks for one, and each is of a kind that fits in a row.
pub(super) fn of(language: Language, text: &str, done: &[DemoResult]) -> Option<String> {
    first_of(&lower(text), TABLE)?;
    let rows = done.iter().map(|done| {
        let (asked, said) = answer::row(language, done)?;
        Some(format!("\n| {} | {} |", cell(&asked), cell(&said)))
    });
    let rows: Option<String> = rows.collect();
    let rows = rows.filter(|rows| !rows.is_empty())?;
    Some(format!("{}\n|---|---|{rows}", words::table(language)))
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', "; ")
}

const TABLE: &[&str] = &["table", "таблица", "таблицей", "таблицу", "таблице", "表格"];
