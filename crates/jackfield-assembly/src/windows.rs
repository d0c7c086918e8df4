//! Reads `[models]`: the context windows of single models.

use jackfield_domain::compaction::WindowList;
use jackfield_domain::price::PriceList;
use jackfield_domain::request::ModelRef;

use crate::document::Section;
use crate::form;
use crate::values::parse_model;

/// Reads `[models]`.
pub(crate) fn read(windows: &mut WindowList, section: Section<'_>) {
    let names = section.again();
    for entry in section.entries() {
        let mut table = Section::of(&names, &entry);
        form::keys! { let table;
            context_window: form::positive(), "How many tokens its context takes, input and output together";
        }
        table.finish();
        // Without a slash, the window is that of all models of a provider.
        let model = parse_model(&entry.name).unwrap_or_else(|| ModelRef {
            model: PriceList::ANY.into(),
            provider: entry.name,
        });
        if let Some((tokens, _)) = context_window {
            windows.set(model, u64::from(tokens));
        }
    }
}
