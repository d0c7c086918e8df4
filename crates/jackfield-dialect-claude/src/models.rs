//! The list of models, from the vendor.

use jackfield_domain::listing::ListedModel;

use crate::wire::{Model, ModelList};

/// A page of the list, and what the next one comes after, if there is one.
///
/// # Errors
///
/// It is not in the vendor's form.
pub fn from_wire(body: &[u8]) -> Result<(Vec<ListedModel>, Option<String>), serde_json::Error> {
    let ModelList {
        data,
        has_more,
        last_id,
    } = serde_json::from_slice(body)?;
    let last = last_id.or_else(|| data.last().map(|model| model.id.clone()));
    let models = data.into_iter().map(|model| {
        let Model {
            display_name,
            id,
            max_input_tokens,
            max_tokens,
        } = model;
        ListedModel {
            context: max_input_tokens,
            id: id.into(),
            name: display_name.map(Into::into),
            output: max_tokens,
        }
    });
    Ok((models.collect(), last.filter(|_| has_more)))
}
