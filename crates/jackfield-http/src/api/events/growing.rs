//! The texts that are written now, as HTML.

use std::collections::HashMap;

use jackfield_web::GrowingText;

use crate::api::wire::events::{EventView, GrownView};

/// The texts whose beginning this stream has sent, by round, attempt and block.
#[derive(Debug, Default)]
pub(crate) struct GrowingTexts(HashMap<(u32, u32, u32), GrowingText>);

impl GrowingTexts {
    /// Adds the HTML of texts to an event. While no turn is open, those that are written come with their reply at once.
    pub(super) fn add_html(&mut self, event: &mut EventView, is_open: bool) {
        event.add_html();
        if let EventView::BlockStarted(begun) = event
            && is_open
            && begun.kind == "text"
        {
            let place = (begun.round, begun.attempt, begun.block);
            self.0.insert(place, GrowingText::default());
        } else if let EventView::Text(told) = event
            && let Some(text) = self.0.get_mut(&(told.round, told.attempt, told.block))
        {
            told.html = text.push(&told.text).map(GrownView::from);
        } else if let EventView::Reply(_)
        | EventView::ReplyFailed(_)
        | EventView::Superseded(_)
        | EventView::TurnEnded(_) = event
        {
            self.0.clear();
        }
    }
}
