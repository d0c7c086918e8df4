//! The journal fails for a while below a gateway at work, and works again: turns that are broken off are
//! told so, taken up in the same process and driven to their end, and nothing is done twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::reply::FinishReason;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::client::{Client, Speaks};
use crate::deaths::TIME_LIMIT;
use crate::disk::{Disk, Failing};
use crate::kept::Kept;
use crate::served::{Asking, Gateway, send};
use crate::started::Started;
use crate::world::{ANSWER, World};

#[tokio::test]
async fn a_disk_that_is_full_for_a_while_needs_no_restart() {
    let world = World::serving("").await.keeping_in("disk");
    let disk = Disk::mount(world.path("disk"));
    let outage = Outage::during_turns(&world).await;
    disk.fill();
    outage.is_told().await;
    disk.free();
    outage.ends_well().await;
}

#[tokio::test]
async fn a_file_system_that_is_read_only_for_a_while_needs_no_restart() {
    // Linux remounts none that has a file open to be written; what does so by itself after an error answers
    // these calls in this way.
    failing("pwrite64,ftruncate,fdatasync", "error=EROFS").await;
}

#[tokio::test]
async fn a_disk_that_gives_errors_for_a_while_needs_no_restart() {
    failing("pwrite64,fdatasync", "error=EIO").await;
}

#[tokio::test]
async fn a_disk_whose_syncs_fail_for_a_while_needs_no_restart() {
    failing("fdatasync", "error=EIO").await;
}

async fn failing(calls: &str, fault: &str) {
    let world = World::serving("").await;
    let outage = Outage::during_turns(&world).await;
    let process = outage.gateway.process();
    let failing = Failing::of(process, calls, fault, &world.path("trace"));
    outage.is_told().await;
    failing.end().await;
    outage.ends_well().await;
}

#[tokio::test]
async fn another_process_that_writes_for_long_needs_no_restart() {
    let world = World::serving("").await;
    let outage = Outage::during_turns(&world).await;
    let other = world.about(&["ask", "--json", "--session", "other", "Pay."], None);
    let mut other = Started::new(other);
    other.until("tool_started", 4).await;
    // Its next commit takes its time, and nobody else can write meanwhile.
    let log = world.path("trace");
    let slow = Failing::of(other.process(), "fdatasync", "delay_enter=600s", &log);
    outage.until_ready(503).await;
    let refused = outage.new_message("meanwhile").await;
    assert!(is_unavailable(&refused), "{refused}");
    slow.end().await;
    let life = other.end().await;
    assert_eq!(life.code, Some(0), "{life:?}");
    outage.ends_well_beside(1).await;
}

/// A gateway with clients, whose journal is about to fail.
struct Outage<'w> {
    address: String,
    clients: JoinSet<u32>,
    gateway: Gateway,
    /// A permit for each client that was refused for the first time.
    refused: Arc<Semaphore>,
    world: &'w World,
}

impl<'w> Outage<'w> {
    /// A gateway whose clients have turns at work: their tools are running.
    async fn during_turns(world: &'w World) -> Self {
        world.bank_takes(Duration::from_millis(700));
        let gateway = match Gateway::start(world, None).await {
            Ok(gateway) => gateway,
            Err(life) => panic!("{life:?}"),
        };
        let address = gateway.address();
        let refused = Arc::new(Semaphore::new(0));
        let mut clients = JoinSet::new();
        for nth in 0..CLIENTS {
            let speaks = Speaks::ALL[nth % Speaks::ALL.len()];
            let client = Client::named(&format!("-{nth}"), speaks);
            clients.spawn(converse(address.clone(), client, Arc::clone(&refused)));
        }
        let outage = Self {
            address,
            clients,
            gateway,
            refused,
            world,
        };
        outage.until_ready(200).await;
        let at_work = async {
            while world.effects().len() < CLIENTS {
                sleep(SHORT_DELAY).await;
            }
        };
        timeout(TIME_LIMIT, at_work).await.expect("tools run");
        outage
    }

    /// Every client is told, new messages are refused, and the gateway says that it is not ready.
    async fn is_told(&self) {
        self.until_ready(503).await;
        let all = u32::try_from(CLIENTS).expect("a few");
        let told = timeout(TIME_LIMIT, self.refused.acquire_many(all)).await;
        drop(told.expect("every client is told").expect("it stays open"));
        let refused = self.new_message("meanwhile").await;
        assert!(is_unavailable(&refused), "{refused}");
        let ready = send(&self.address, &Asking::get("/readyz")).await;
        assert_eq!(status(&ready), 503);
    }

    async fn ends_well(self) {
        self.ends_well_beside(0).await;
    }

    /// Every client has its answer, the gateway is ready, takes new messages, and nothing was done twice;
    /// there are so many turns besides.
    async fn ends_well_beside(mut self, others: usize) {
        let mut times = 0;
        let answered = async {
            while let Some(client) = self.clients.join_next().await {
                times += client.expect("a client with its answer");
            }
        };
        let answered = timeout(TIME_LIMIT, answered).await;
        self.until_ready(200).await;
        let new = self.new_message("afterwards").await;
        let life = self.gateway.end().await;
        let wrong = &life.wrong;
        answered.unwrap_or_else(|_| panic!("not every client has its answer:\n{wrong}"));
        println!("{CLIENTS} clients were refused {times} times");
        assert!(new.contains(ANSWER), "{new}\n{wrong}");
        let kept = Kept::read_all(self.world).await;
        let ended = kept.facts.iter().filter(|fact| {
            let answered = TurnEnd::Answered(FinishReason::Stop);
            matches!(fact, Fact::TurnEnded { end, .. } if *end == answered)
        });
        assert_eq!(ended.count(), kept.turns(), "{wrong}");
        assert_eq!(kept.turns(), CLIENTS + 1 + others, "{wrong}");
        let mut done: BTreeMap<String, u32> = BTreeMap::new();
        for effect in self.world.effects() {
            if effect["tool"] == "pay" {
                *done.entry(effect["key"].to_string()).or_default() += 1;
            }
        }
        let twice = done.iter().filter(|(_, times)| **times > 1);
        assert_eq!(twice.count(), 0, "{done:?}");
        assert_eq!(self.world.claude.violations(), [""; 0]);
        assert_eq!(self.world.bank_violations(), [""; 0]);
    }

    /// Waits until the gateway says how it is.
    async fn until_ready(&self, wanted: u16) {
        let said = timeout(TIME_LIMIT, async {
            while status(&send(&self.address, &Asking::get("/readyz")).await) != wanted {
                sleep(SHORT_DELAY).await;
            }
        });
        said.await
            .unwrap_or_else(|_| panic!("readyz never says {wanted}"));
    }

    /// What is answered to a client that was not there before, whole.
    async fn new_message(&self, name: &str) -> String {
        let mut client = Client::named(&format!("-{name}"), Speaks::Chat);
        loop {
            let bytes = send(&self.address, &client.request()).await;
            let heard = client.heard(&bytes);
            if !heard.whole || !client.takes(&heard) {
                return String::from_utf8_lossy(&bytes).into_owned();
            }
        }
    }
}

/// A client's conversation to its end: it sends again what it has no answer to. How often it was refused.
async fn converse(address: String, mut client: Client, first: Arc<Semaphore>) -> u32 {
    let mut refused = 0;
    loop {
        let bytes = send(&address, &client.request()).await;
        let heard = client.heard(&bytes);
        if heard.whole {
            if !client.takes(&heard) {
                assert!(heard.text.trim().ends_with(ANSWER), "{:?}", heard.text);
                return refused;
            }
            continue;
        }
        let said = heard.refused;
        let said = said.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&bytes)));
        assert!(is_unavailable(&said), "{said}");
        if refused == 0 {
            first.add_permits(1);
        }
        refused += 1;
        sleep(Duration::from_secs(1)).await;
    }
}

/// Whether this is a refusal that says when to come again, or an event that ends a stream for the same reason.
pub(crate) fn is_unavailable(refused: &str) -> bool {
    let is_event = refused.starts_with('{');
    let head = refused.to_lowercase();
    let is_said = [
        "conversations cannot be read or kept now",
        "users and keys cannot be read now",
    ]
    .iter()
    .any(|said| refused.contains(said));
    is_said
        && (is_event || (head.starts_with("http/1.0 503") && head.contains("\r\nretry-after: ")))
}

fn status(answer: &[u8]) -> u16 {
    let text = String::from_utf8_lossy(answer);
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    status.unwrap_or_default()
}

/// How many clients have a turn each: two of each language.
const CLIENTS: usize = 6;
/// How often it is looked at how far something is.
const SHORT_DELAY: Duration = Duration::from_millis(20);
