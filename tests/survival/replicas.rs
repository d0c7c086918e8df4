//! Several gateways on one database, and a client that comes to any of them.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use crate::chance::Chance;
use crate::client::{Client, Heard, Speaks};
use crate::deaths::{TIME_LIMIT, When};
use crate::judge::Judge;
use crate::served::{Asking, Gateway, exchange};
use crate::world::{ANSWER, World};

/// Gateways, each of which is started again when it has died.
pub(crate) struct Fleet<'w> {
    pub(crate) gateways: Vec<Gateway>,
    world: &'w World,
}

/// What befalls a fleet.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Where each gateway is killed in its first life.
    pub(crate) at: When,
    /// Kills of a gateway, so long after the first request.
    pub(crate) kills: Vec<(Duration, usize)>,
    /// How many gateways there are.
    pub(crate) replicas: usize,
    /// Whether those that have died are started again.
    pub(crate) restarts: bool,
}

impl Plan {
    /// Nothing befalls it.
    pub(crate) const fn quiet(replicas: usize) -> Self {
        Self {
            at: When::Never,
            kills: Vec::new(),
            replicas,
            restarts: true,
        }
    }
}

impl<'w> Fleet<'w> {
    /// Starts so many, each with a folder of its own for its data.
    pub(crate) async fn start(world: &'w World, replicas: usize, crash: Option<&str>) -> Self {
        let starting = (0..replicas).map(|nth| start(world, nth, crash));
        let mut gateways = Vec::new();
        for gateway in starting {
            gateways.push(gateway.await);
        }
        Self { gateways, world }
    }

    /// Looks at those that have died, and starts them again.
    pub(crate) async fn bury(&mut self, judge: &mut Judge<'_>, when: When, restarts: bool) -> bool {
        let mut died = false;
        let mut nth = 0;
        while nth < self.gateways.len() {
            if !self.gateways[nth].is_dead() {
                nth += 1;
                continue;
            }
            died = true;
            if restarts {
                let next = start(self.world, nth, None).await;
                let dead = std::mem::replace(&mut self.gateways[nth], next);
                judge.lives(dead.end().await.killed(true), when).await;
                nth += 1;
            } else {
                let dead = self.gateways.remove(nth);
                judge.lives(dead.end().await.killed(true), when).await;
            }
        }
        died
    }

    /// Ends all of them.
    pub(crate) async fn end(self, judge: &mut Judge<'_>) {
        for gateway in self.gateways {
            let life = gateway.end().await.killed(false);
            judge.lives(life, When::Never).await;
        }
    }
}

/// One gateway, with a folder of its own for its data.
pub(crate) async fn start(world: &World, nth: usize, crash: Option<&str>) -> Gateway {
    let gateway = Gateway::start_with(world, crash, &format!(".data-{nth}"), None).await;
    gateway.unwrap_or_else(|life| panic!("it does not start: {life:?}"))
}

/// A conversation to its end, each request of which comes to any gateway.
pub(crate) async fn talk(
    world: &World,
    judge: &mut Judge<'_>,
    speaks: Speaks,
    plan: &Plan,
    chance: &mut Chance,
) {
    let mut client = Client::new(speaks);
    let mut fleet = Fleet::start(world, plan.replicas, plan.at.crash().as_deref()).await;
    let began = Instant::now();
    let mut kills: VecDeque<(Instant, usize)> = plan
        .kills
        .iter()
        .map(|(time, nth)| (began + *time, *nth))
        .collect();
    let mut before: Option<Heard> = None;
    for _ in 0..MAX_REQUESTS {
        if fleet.gateways.is_empty() {
            break;
        }
        let at = usize::try_from(chance.below(fleet.gateways.len() as u64)).unwrap_or_default();
        let bytes = ask(&mut fleet, at, &client.request(), &mut kills).await;
        let heard = client.heard(&bytes);
        judge.heard(&heard, before.as_ref());
        let when = if plan.kills.is_empty() {
            plan.at
        } else {
            When::AfterAcceptance(began.elapsed())
        };
        let is_last = heard.whole && heard.calls.is_empty();
        if !heard.whole {
            // The connection breaks somewhat before the process is seen to be dead.
            tokio::time::sleep(MOMENT).await;
        }
        fleet.bury(judge, when, plan.restarts).await;
        if !heard.whole {
            before = Some(heard).filter(|heard| heard.id.is_some()).or(before);
            continue;
        }
        before = None;
        client.takes(&heard);
        if is_last {
            if !heard.text.trim().ends_with(ANSWER) {
                judge.unanswered(&format!("the answer is {:?}", heard.text));
            }
            fleet.end(judge).await;
            return;
        }
    }
    fleet.end(judge).await;
    judge.unanswered("the client got no whole answer");
}

/// Goes on with a conversation at the first of them from this answer to its end.
pub(crate) async fn conclude(
    fleet: &mut Fleet<'_>,
    judge: &mut Judge<'_>,
    client: &mut Client,
    mut heard: Heard,
) {
    while client.takes(&heard) {
        let bytes = ask(fleet, 0, &client.request(), &mut VecDeque::new()).await;
        heard = client.heard(&bytes);
        judge.heard(&heard, None);
        if !heard.whole {
            break;
        }
    }
    if !heard.text.trim().ends_with(ANSWER) {
        judge.unanswered(&format!("the answer is {:?}", heard.text));
    }
}

/// Sends a request to one of them, while these kills come.
async fn ask(
    fleet: &mut Fleet<'_>,
    at: usize,
    request: &Asking,
    kills: &mut VecDeque<(Instant, usize)>,
) -> Vec<u8> {
    let mut heard = Vec::new();
    let address = fleet.gateways[at].address();
    let asked = timeout(TIME_LIMIT, async {
        let asking = exchange(&address, request, &mut heard);
        tokio::pin!(asking);
        loop {
            let next = kills.front().copied();
            let killing = async {
                match next {
                    Some((time, nth)) => {
                        sleep_until(time).await;
                        nth
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = &mut asking => return,
                nth = killing => {
                    kills.pop_front();
                    if let Some(gateway) = fleet.gateways.get_mut(nth) {
                        gateway.kill();
                    }
                }
            }
        }
    });
    let asked = asked.await;
    assert!(
        asked.is_ok(),
        "no end of the answer: {}",
        String::from_utf8_lossy(&heard)
    );
    heard
}

/// More than there are deaths.
const MAX_REQUESTS: u32 = 12;
const MOMENT: Duration = Duration::from_millis(30);
