//! The contracts of the ports: each clause with what it demands, and the failure that it prevents.

use std::path::Path;

use super::pages::Page;
use super::{Generated, plain_text};
use crate::contracts::{self, Contract};

/// A page of each contract, and their index.
pub(super) fn pages(root: &Path) -> anyhow::Result<Vec<Generated>> {
    let all = contracts::clauses(root)?;
    let mut index = INDEX.to_owned();
    let mut pages = Vec::new();
    for contract in &all {
        let (port, count) = (&contract.port, contract.clauses.len());
        let name = format!("{}.md", port.to_ascii_lowercase());
        index.push_str(&format!("| [`{port}`]({name}) | {count} |\n"));
        let page = Page {
            from: "".into(),
            title: port.clone(),
            to: Path::new("contracts").join(&name),
        };
        pages.push((page, text(contract)));
    }
    let page = Page {
        from: "".into(),
        title: "Contracts".to_owned(),
        to: "contracts/index.md".into(),
    };
    pages.insert(0, (page, index));
    Ok(pages)
}

fn text(contract: &Contract) -> String {
    let port = &contract.port;
    let mut text = format!("# {port}\n\nThe clauses that every `{port}` keeps.\n");
    for clause in &contract.clauses {
        text.push_str(&format!(
            "\n## {}\n\n{}\n\n*Prevents:* {}\n",
            clause.name,
            plain_text(&clause.text),
            plain_text(&clause.why)
        ));
    }
    text
}

const INDEX: &str = "\
# Contracts

A port is a trait with a contract: clauses that every implementation keeps.
Each clause is a test of the same name in `jackfield-testkit`, which an adapter of your own runs, too: see [add an adapter](../guides/add-an-adapter.md).
These pages are made from the clauses themselves.

| port | clauses |
|---|---|
";
