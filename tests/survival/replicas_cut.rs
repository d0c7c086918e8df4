//! The network between a gateway and its database is cut, the database is restarted in the middle of a turn, and it is
//! lost for good and a standby takes its place.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_testservers::postgres::PostgresServer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::client::{Client, Heard, Speaks};
use crate::deaths::{TIME_LIMIT, When};
use crate::judge::Judge;
use crate::outages::is_unavailable;
use crate::over_http::until;
use crate::replicas::{Fleet, conclude};
use crate::served::{Gateway, send};
use crate::shared_database::SharedDatabase;
use crate::table::Table;
use crate::world::World;

#[tokio::test]
async fn a_gateway_that_is_cut_off_from_its_database_does_nothing_more() {
    let mut table = Table::default();
    for (speaks, cut) in Speaks::ALL
        .into_iter()
        .zip([Cut::Silent, Cut::Closed, Cut::Silent])
    {
        let world = World::replicated(SharedDatabase::new().unheard(), "").await;
        world.bank_takes(Duration::from_millis(300));
        let mut judge = Judge::of_all(&world, format!("{speaks:?}, {cut:?}"));
        let proxy = Proxy::start(SharedDatabase::socket()).await;
        let through = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port);
        let cut_off = Gateway::start_with(&world, None, ".data-cut", Some(&through)).await;
        let cut_off = cut_off.expect("it listens");
        let mut fleet = Fleet::start(&world, 1, None).await;
        let mut client = Client::new(speaks);
        let (address, request) = (cut_off.address(), client.request());
        let waiting = tokio::spawn(async move { send(&address, &request).await });
        acted(&world, 1).await;
        proxy.set(cut);
        // Its client loses patience, and comes to the other one.
        let request = client.request();
        let heard = client.heard(&send(&fleet.gateways[0].address(), &request).await);
        judge.heard(&heard, None);
        proxy.set(Cut::Never);
        let late = timeout(TIME_LIMIT, waiting)
            .await
            .expect("it answers or ends");
        drop(late.expect("no panic"));
        conclude(&mut fleet, &mut judge, &mut client, heard).await;
        // One for each round: the reply to the first was in the journal before the cut.
        let asked = world.claude.requests().len();
        if asked != 3 {
            judge.acted_asleep(&format!("{asked} requests for three rounds"));
        }
        judge
            .lives(
                cut_off.end().await.killed(true),
                When::AfterAcceptance(Duration::ZERO),
            )
            .await;
        fleet.end(&mut judge).await;
        table.add(judge.verdict().await);
    }
    table.promised("Replicas, one of which is cut off from the database");
}

/// A gateway has sent the opening of a turn when its network goes silent. Its client asks another gateway, which begins the
/// turn; the opening arrives after the lease of its sender, beside what that repeats.
#[tokio::test]
async fn an_opening_that_arrives_after_its_turn_was_begun_elsewhere_begins_none() {
    let mut table = Table::default();
    for speaks in Speaks::ALL {
        for is_patient in [false, true] {
            let world = World::replicated(SharedDatabase::new().unheard(), "").await;
            let label = format!("{speaks:?}, the opening is late, patient: {is_patient}");
            let mut judge = Judge::of_all(&world, label);
            let proxy = Proxy::start(SharedDatabase::socket()).await;
            let through = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port);
            let cut_off = Gateway::start_with(&world, None, ".data-cut", Some(&through)).await;
            let cut_off = cut_off.expect("it listens");
            let mut fleet = Fleet::start(&world, 1, None).await;
            let mut client = Client::new(speaks);
            proxy.set(Cut::AtAppend);
            let (address, request) = (cut_off.address(), client.request());
            let waiting = tokio::spawn(async move { send(&address, &request).await });
            proxy.silent().await;
            let silent = Instant::now();
            if !is_patient {
                waiting.abort();
            }
            let heard = client.heard(&send(&fleet.gateways[0].address(), &client.request()).await);
            judge.heard(&heard, None);
            tokio::time::sleep(LEASE.saturating_sub(silent.elapsed())).await;
            proxy.set(Cut::Never);
            let _late = timeout(TIME_LIMIT, waiting).await.expect("it ends");
            conclude(&mut fleet, &mut judge, &mut client, heard).await;
            // Whatever was begun a second time would be taken up by now.
            tokio::time::sleep(LEASE).await;
            let when = When::AfterAcceptance(Duration::ZERO);
            judge.lives(cut_off.end().await.killed(true), when).await;
            fleet.end(&mut judge).await;
            table.add(judge.verdict().await);
        }
    }
    table.promised("Replicas, one of which sends the opening of a turn that arrives late");
}

/// A server is still starting for a call when its gateway is cut off, and is ready long after the lease.
#[tokio::test]
async fn a_server_that_starts_slower_than_the_lease_gets_no_call_of_its_former_owner() {
    let mut table = Table::default();
    for speaks in Speaks::ALL {
        let world = World::replicated(SharedDatabase::new().unheard(), "").await;
        world.bank_starts_slowly();
        let mut judge = Judge::of_all(&world, format!("{speaks:?}, a slow start"));
        // It knows the tools, as a gateway that was restarted does.
        let mut known = world.program(&["tools", "list"], None);
        let known = known.env("XDG_DATA_HOME", world.path(".data-cut")).output();
        let known = known.await.expect("the program runs");
        assert!(known.status.success(), "{known:?}");
        std::fs::write(world.path("slow"), "").expect("the home can be written");
        let proxy = Proxy::start(SharedDatabase::socket()).await;
        let through = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port);
        let cut_off = Gateway::start_with(&world, None, ".data-cut", Some(&through)).await;
        let cut_off = cut_off.expect("it listens");
        let mut fleet = Fleet::start(&world, 1, None).await;
        let mut client = Client::new(speaks);
        let (address, request) = (cut_off.address(), client.request());
        let waiting = tokio::spawn(async move { send(&address, &request).await });
        until(|| world.path("starting").exists()).await;
        assert_eq!(world.claude.requests().len(), 1, "it starts for a call");
        let begun = world.bank_logged("start").len();
        proxy.set(Cut::Silent);
        let heard = client.heard(&send(&fleet.gateways[0].address(), &client.request()).await);
        judge.heard(&heard, None);
        conclude(&mut fleet, &mut judge, &mut client, heard).await;
        let acted = world.effects();
        let started = world.bank_logged("start").len();
        assert!(started > begun, "the other gateway has a server of its own");
        std::fs::write(world.path("go"), "").expect("the home can be written");
        until(|| world.bank_logged("start").len() > started).await;
        // A call would be there at once.
        tokio::time::sleep(LEASE).await;
        let late: Vec<_> = world.effects().split_off(acted.len());
        if !late.is_empty() {
            judge.acted_asleep(&format!("after the lease: {late:?}"));
        }
        proxy.set(Cut::Never);
        let _late = timeout(TIME_LIMIT, waiting).await.expect("it ends");
        let when = When::AfterAcceptance(Duration::ZERO);
        judge.lives(cut_off.end().await.killed(true), when).await;
        fleet.end(&mut judge).await;
        table.add(judge.verdict().await);
    }
    table.promised("Replicas, one of which starts a server for longer than its lease");
}

#[tokio::test]
async fn a_database_that_restarts_in_the_middle_of_turns_costs_nothing() {
    let mut table = Table::default();
    for speaks in Speaks::ALL {
        let mut server = PostgresServer::start().expect("a server");
        let shared = SharedDatabase::at(&server.url("postgres", "postgres"));
        let world = Arc::new(World::replicated(shared, "").await);
        let label = format!("{speaks:?}, the database restarts");
        let restarted = through(&world, speaks, label, move || {
            server.crash().expect("ended");
            server.resume().expect("started");
            server
        });
        table.add(restarted.await);
    }
    table.promised("Replicas, whose database restarts in the middle");
}

#[tokio::test]
async fn a_standby_that_takes_the_place_of_the_database_costs_nothing() {
    let mut table = Table::default();
    for speaks in Speaks::ALL {
        let mut primary = PostgresServer::start().expect("a server");
        let standby = primary.standby().expect("a standby");
        let shared = SharedDatabase::at(&primary.url_of_either(&standby, "postgres"));
        let world = Arc::new(World::replicated(shared, "").await);
        let label = format!("{speaks:?}, the standby takes over");
        let failed_over = through(&world, speaks, label, move || {
            primary.crash().expect("ended");
            standby.promote().expect("promoted");
            standby
        });
        table.add(failed_over.await);
    }
    table.promised("Replicas, whose database is lost and replaced by its standby");
}

/// Others go on with the turns of a lost gateway, and meanwhile the database restarts.
#[tokio::test]
async fn a_database_that_restarts_during_a_recovery_loses_no_turn() {
    let mut table = Table::default();
    for speaks in Speaks::ALL {
        let mut server = PostgresServer::start().expect("a server");
        let shared = SharedDatabase::at(&server.url("postgres", "postgres"));
        let world = World::replicated(shared, "").await;
        world.bank_takes(Duration::from_millis(300));
        let mut judge = Judge::of_all(&world, format!("{speaks:?}, restarts in a recovery"));
        let mut fleet = Fleet::start(&world, 2, None).await;
        let mut client = Client::new(speaks);
        let (address, request) = (fleet.gateways[1].address(), client.request());
        let waiting = tokio::spawn(async move { send(&address, &request).await });
        acted(&world, 1).await;
        fleet.gateways[1].kill();
        let before = client.heard(&waiting.await.expect("the connection ends"));
        judge.heard(&before, None);
        let (address, request) = (fleet.gateways[0].address(), client.request());
        let waiting = tokio::spawn(async move { send(&address, &request).await });
        // While the other waits for the lease, and again when it has just taken the turn.
        let restarting = tokio::task::spawn_blocking(move || {
            for pause in [500, 1500] {
                std::thread::sleep(Duration::from_millis(pause));
                server.crash().expect("ended");
                server.resume().expect("started");
            }
            server
        });
        let server = restarting.await.expect("restarted");
        let heard = client.heard(&waiting.await.expect("an answer"));
        let heard = whole(&fleet, &mut judge, &mut client, heard, Some(before)).await;
        let when = When::AfterAcceptance(Duration::ZERO);
        fleet.bury(&mut judge, when, true).await;
        conclude(&mut fleet, &mut judge, &mut client, heard).await;
        fleet.end(&mut judge).await;
        table.add(judge.verdict().await);
        drop(server);
    }
    table.promised("Replicas, one of which is killed while the database restarts twice");
}

/// A conversation in the middle of whose calls this befalls the database.
async fn through<T: Send + 'static>(
    world: &Arc<World>,
    speaks: Speaks,
    label: String,
    befall: impl FnOnce() -> T + Send + 'static,
) -> crate::judge::Survived {
    world.bank_takes(Duration::from_millis(300));
    let mut judge = Judge::of_all(world, label);
    let mut fleet = Fleet::start(world, 2, None).await;
    let mut client = Client::new(speaks);
    let (address, request) = (fleet.gateways[1].address(), client.request());
    let waiting = tokio::spawn(async move { send(&address, &request).await });
    acted(world, 1).await;
    // The server lives on with what is returned.
    let server = tokio::task::spawn_blocking(befall).await.expect("befallen");
    let heard = client.heard(&waiting.await.expect("an answer"));
    let heard = whole(&fleet, &mut judge, &mut client, heard, None).await;
    conclude(&mut fleet, &mut judge, &mut client, heard).await;
    fleet.end(&mut judge).await;
    let survived = judge.verdict().await;
    drop(server);
    survived
}

/// Asks again until the answer is whole, as it is owed: a stream may break each time that the gateway cannot reach its
/// database, and once more when it loses its lease by that. A request that comes meanwhile gets a 503, and its client
/// comes again.
async fn whole(
    fleet: &Fleet<'_>,
    judge: &mut Judge<'_>,
    client: &mut Client,
    mut heard: Heard,
    mut before: Option<Heard>,
) -> Heard {
    let begun = Instant::now();
    loop {
        if heard.refused.as_deref().is_some_and(is_unavailable) {
            heard.refused = None;
        }
        judge.heard(&heard, before.as_ref());
        if heard.whole || begun.elapsed() > PATIENCE {
            return heard;
        }
        if heard.id.is_some() {
            before = Some(heard);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        heard = client.heard(&send(&fleet.gateways[0].address(), &client.request()).await);
    }
}

/// How long a client comes again.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until the bank has done so much.
async fn acted(world: &World, effects: usize) {
    let acting = async {
        while world.effects().len() < effects {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TIME_LIMIT, acting)
        .await
        .expect("the bank is asked");
}

/// What happens to the connections through a proxy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Cut {
    /// It is silent from the first append on.
    AtAppend,
    /// They end, and no other begins.
    Closed,
    Never,
    /// Nothing comes through any more.
    Silent,
}

/// A proxy before a server.
struct Proxy {
    cut: watch::Sender<Cut>,
    port: u16,
}

impl Proxy {
    async fn start(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let cut = watch::Sender::new(Cut::Never);
        let setting = cut.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (socket, cut) = (socket.clone(), setting.clone());
                tokio::spawn(async move {
                    let Ok(server) = UnixStream::connect(socket).await else {
                        return;
                    };
                    let (from_client, to_client) = client.into_split();
                    let (from_server, to_server) = server.into_split();
                    tokio::select! {
                        () = pass(from_client, to_server, &cut) => {}
                        () = pass(from_server, to_client, &cut) => {}
                    }
                });
            }
        });
        Self { cut, port }
    }

    fn set(&self, cut: Cut) {
        self.cut.send_replace(cut);
    }

    /// Waits until it is silent.
    async fn silent(&self) {
        let mut cut = self.cut.subscribe();
        let silent = cut.wait_for(|cut| *cut == Cut::Silent);
        let silent = timeout(TIME_LIMIT, silent).await.expect("an append");
        silent.expect("it lives");
    }
}

/// What a statement has that appends.
const APPEND: &[u8] = b"WITH guard";
/// After it the lease of a process has passed of which nothing was heard.
const LEASE: Duration = Duration::from_millis(2200);

/// Passes on in one direction until the connection ends or is closed.
async fn pass(
    mut from: impl tokio::io::AsyncRead + Unpin,
    mut to: impl tokio::io::AsyncWrite + Unpin,
    cut: &watch::Sender<Cut>,
) {
    let (mut closed, mut passes) = (cut.subscribe(), cut.subscribe());
    let passing = async {
        let mut piece = vec![0; 65536];
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            let mut words = piece[..length].windows(APPEND.len());
            if *cut.borrow() == Cut::AtAppend && words.any(|words| words == APPEND) {
                cut.send_replace(Cut::Silent);
            }
            let passes = passes.wait_for(|cut| matches!(cut, Cut::AtAppend | Cut::Never));
            if passes.await.is_err() || to.write_all(&piece[..length]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = passing => {}
        _ = closed.wait_for(|cut| *cut == Cut::Closed) => {}
    }
}
