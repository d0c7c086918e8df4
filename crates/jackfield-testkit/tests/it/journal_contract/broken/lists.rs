//! Mistakes of following, letting go, deleting, and of what is listed.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each method knows only the mistakes that are its own"
)]

use std::sync::atomic::Ordering;

use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::sessions::{
    DueSessions, ListedWait, OpenWaitsMark, SessionQuery, SessionRow, WaitQuery,
};
use jackfield_ports::journal::waits::{WaitRow, WaitState};
use jackfield_ports::journal::{Epoch, Journal as _, JournalError};

use super::{Mistake, Mistaken, id};

impl Mistaken {
    pub(super) async fn let_go(
        &self,
        session: &SessionId,
        epoch: Epoch,
    ) -> Result<(), JournalError> {
        match self.is {
            Mistake::ReleaseForgotten => Ok(()),
            Mistake::ReleaseOfAny => {
                let owner = self.epochs.lock().expect("no panic").get(session).copied();
                self.inner.release(session, owner.unwrap_or(epoch)).await
            }
            _ => self.inner.release(session, self.inner_epoch(epoch)).await,
        }
    }

    pub(super) async fn steps_from(
        &self,
        session: &SessionId,
        from: u64,
    ) -> Result<Vec<Envelope>, JournalError> {
        let there = self.length(session).await.0;
        match self.is {
            Mistake::FollowEmptyAtOnce if there <= from => return Ok(Vec::new()),
            Mistake::FollowForOne if self.reading.swap(true, Ordering::Relaxed) => {
                std::future::pending::<()>().await;
            }
            Mistake::FollowFromStart => return self.inner.follow(session, 0).await,
            Mistake::FollowNeverWakes if there <= from => std::future::pending().await,
            _ => {}
        }
        let steps = self.inner.follow(session, from).await;
        if self.is == Mistake::FollowUnaware && steps.is_err() {
            std::future::pending::<()>().await;
        }
        self.reading.store(false, Ordering::Relaxed);
        steps
    }

    pub(super) async fn listed(
        &self,
        query: &SessionQuery,
    ) -> Result<Vec<SessionRow>, JournalError> {
        let mut query = query.clone();
        match (self.is, &mut query) {
            (
                Mistake::PagesSkip,
                SessionQuery {
                    before: Some((_, last)),
                    ..
                },
            ) => *last = id(SessionId::parse("-")),
            (
                Mistake::CaseMatters,
                SessionQuery {
                    text: Some(text), ..
                },
            ) if text.chars().any(char::is_uppercase) => {
                return Ok(Vec::new());
            }
            (_, _) => {}
        }
        let mut rows = self.inner.sessions(&query).await?;
        if self.is == Mistake::OldestFirst {
            rows.reverse();
        }
        for row in &mut rows {
            match self.is {
                Mistake::BytesForgotten => row.bytes = 0,
                Mistake::OnlyWaitsForgotten => {
                    if let Some(open) = &mut row.open {
                        open.only_waits = false;
                    }
                }
                Mistake::RestoredListedAsOpen => {
                    if let Some(open) = &mut row.open {
                        open.parked = false;
                    }
                }
                Mistake::RefusedListed => {
                    row.steps += self.refused.load(Ordering::Relaxed) as u64;
                }
                Mistake::PinLost => row.pinned = false,
                Mistake::TitleForgotten => row.title = "".into(),
                _ => {}
            }
        }
        Ok(rows)
    }

    pub(super) async fn end(&self, session: &SessionId) -> Result<(), JournalError> {
        let owner = self.epochs.lock().expect("no panic").get(session).copied();
        match (self.is, owner) {
            (Mistake::DeleteForgotten, Some(_)) => return Ok(()),
            (Mistake::DeleteOfOwned, Some(owner)) => self.inner.release(session, owner).await?,
            (Mistake::EpochsBeginAgain, Some(owner)) => {
                let past = usize::try_from(owner.0).expect("small");
                self.past.fetch_add(past, Ordering::Relaxed);
            }
            (Mistake::LargeTextsForgotten, Some(_)) => self.taken.store(true, Ordering::Relaxed),
            (_, _) => {}
        }
        self.inner.delete(session).await
    }

    pub(super) async fn mark(&self, session: &SessionId) -> Result<(), JournalError> {
        if self.is == Mistake::RestoredForgotten {
            return Ok(());
        }
        self.taken.store(true, Ordering::Relaxed);
        self.inner.mark_restored(session).await
    }

    pub(super) async fn have_to_do(
        &self,
        now: WallTime,
        most: usize,
    ) -> Result<DueSessions, JournalError> {
        let rows = self.inner.sessions(&every_session()).await?;
        let mut due = match self.is {
            Mistake::DueEarly => {
                let end = WallTime::from_millis(i64::MAX);
                self.inner.due(end, most).await?
            }
            Mistake::DueLate => {
                let before = WallTime::from_millis(now.as_millis() - 1);
                self.inner.due(before, most).await?
            }
            Mistake::DueNever => DueSessions::default(),
            Mistake::MostIgnored => self.inner.due(now, usize::MAX).await?,
            _ => self.inner.due(now, most).await?,
        };
        match self.is {
            Mistake::DueDeaf => {
                let mut heard = Vec::new();
                for session in due.sessions {
                    if self.length(&session).await.1 == 0 {
                        heard.push(session);
                    }
                }
                due.sessions = heard;
            }
            Mistake::DueOwned => {
                let owned = rows
                    .into_iter()
                    .filter(|row| row.owned && row.open.is_some());
                due.sessions.extend(owned.map(|row| row.session));
            }
            Mistake::NotedDue => {
                for row in rows
                    .into_iter()
                    .filter(|row| !row.owned && row.open.is_some())
                {
                    let noted = self.length(&row.session).await.1 > 0;
                    if noted && !due.sessions.contains(&row.session) {
                        due.sessions.push(row.session);
                    }
                }
            }
            Mistake::ParkedNever => {
                let parked = rows
                    .into_iter()
                    .filter(|row| !row.owned && row.open.as_ref().is_some_and(|open| open.parked));
                due.sessions.extend(parked.map(|row| row.session));
            }
            _ => {}
        }
        Ok(due)
    }

    pub(super) async fn asked(&self, query: &WaitQuery) -> Result<Vec<ListedWait>, JournalError> {
        match self.is {
            Mistake::NewestWaits => {
                let all = WaitQuery {
                    limit: usize::MAX,
                    ..query.clone()
                };
                let mut waits = self.inner.waits(&all).await?;
                Ok(waits.split_off(waits.len().saturating_sub(query.limit)))
            }
            Mistake::ClosedWaitsLost => {
                let mut waits = self.inner.waits(query).await?;
                waits.retain(|listed| listed.row.state == WaitState::Open);
                Ok(waits)
            }
            Mistake::WaitsOfAll => {
                let all = WaitQuery {
                    principal: None,
                    ..query.clone()
                };
                self.inner.waits(&all).await
            }
            Mistake::WaitsNeverClose => {
                let written = self.written.lock().expect("no panic");
                let opened = written.iter().flat_map(|append| {
                    let facts = append.steps.iter().flat_map(|step| &step.facts);
                    facts.filter_map(|fact| match fact {
                        Fact::WaitOpened { wait } => Some(ListedWait {
                            number: 1,
                            principal: None,
                            row: WaitRow::opened(wait.clone()),
                            session: append.session.clone(),
                        }),
                        _ => None,
                    })
                });
                Ok(opened.collect())
            }
            _ => self.inner.waits(query).await,
        }
    }

    pub(super) async fn noticed(&self) -> Result<OpenWaitsMark, JournalError> {
        match self.is {
            Mistake::WaitsUnnoticed => Ok(OpenWaitsMark::default()),
            _ => self.inner.open_waits_mark().await,
        }
    }

    /// The epoch that the journal inside knows under this one.
    pub(super) fn inner_epoch(&self, epoch: Epoch) -> Epoch {
        Epoch(epoch.0 + self.past.load(Ordering::Relaxed) as u64)
    }

    /// The other way round.
    pub(super) fn outer_epoch(&self, epoch: Epoch) -> Epoch {
        Epoch(epoch.0 - self.past.load(Ordering::Relaxed) as u64)
    }
}

fn every_session() -> SessionQuery {
    SessionQuery {
        limit: usize::MAX,
        ..SessionQuery::default()
    }
}
