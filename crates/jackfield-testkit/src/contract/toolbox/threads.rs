//! That calls leave their thread to others.
#![expect(clippy::expect_used, reason = "a clause ends where its toolbox fails")]

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use jackfield_domain::request::ToolRun;
use jackfield_ports::call_context::CallContext;
use tokio::runtime::Builder;

use super::scene::ToolboxScene;
use super::{SampleCall, ToolboxHarness};

pub(super) async fn no_call_blocks_its_thread<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let mut calls = vec![scene.harness.working()];
    calls.extend(scene.harness.failing());
    calls.extend(scene.harness.acting(0));
    calls.extend(scene.harness.read_only());
    for (n, call) in calls.iter().enumerate() {
        leaves_its_thread(&scene, &format!("call_{n}"), call).await;
    }
    if let Some(lasting) = scene.harness.lasting() {
        leaves_its_thread(&scene, LASTING, &lasting).await;
    }
}

/// Performs a clause in a thread of its own, so that a call that blocks it for ever fails the test instead of hanging it.
pub(super) fn unless_blocked<F: Future<Output = ()>>(
    patience: Duration,
    perform: impl FnOnce() -> F + Send + 'static,
) {
    let (answer, (sender, ended)) = (AnswerClock::default(), mpsc::channel());
    let clock = answer.clone();
    let name = std::thread::current().name().unwrap_or("clause").to_owned();
    let thread = std::thread::Builder::new().name(name).spawn(move || {
        CLOCK.set(clock);
        let _not_awaited = sender.send(catch_unwind(AssertUnwindSafe(|| {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(perform());
        })));
    });
    thread.expect("a thread");
    loop {
        match ended.recv_timeout(Duration::from_millis(50)) {
            Ok(Ok(())) => return,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => assert!(
                answer.elapsed() <= patience,
                "no answer after {patience:?}: the toolbox blocks its thread"
            ),
        }
    }
}

thread_local! {
    static CLOCK: RefCell<AnswerClock> = RefCell::default();
}

/// How long a thread has been waiting for an answer of a toolbox.
#[derive(Clone, Default)]
struct AnswerClock(Arc<Mutex<Option<Instant>>>);

impl AnswerClock {
    fn elapsed(&self) -> Duration {
        let since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn set(&self, since: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}

/// Awaits an answer with a time limit, so that a toolbox that never answers fails here instead of hanging.
pub(super) async fn with_timeout<T>(answer: impl Future<Output = T>) -> T {
    let clock = CLOCK.with_borrow(AnswerClock::clone);
    clock.set(Some(Instant::now()));
    let answered = tokio::time::timeout(LIMIT, answer).await;
    clock.set(None);
    answered.expect("an answer within 20 seconds")
}

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(20);

/// How long a thread may be without one, a little longer: [`LIMIT`] does nothing while the thread is blocked.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Checks that another task of this thread goes on during a call. A machine under load may suspend the thread as a
/// toolbox may, but not in each of many attempts.
async fn leaves_its_thread<H: ToolboxHarness>(
    scene: &ToolboxScene<H>,
    id: &str,
    call: &SampleCall,
) {
    let mut shortest = Duration::MAX;
    for attempt in 0..ATTEMPTS {
        let run = scene.run(&format!("{id}_{attempt}"), call.clone());
        shortest = shortest.min(longest_gap(scene, &run, id == LASTING).await);
        if shortest <= MAX_GAP {
            return;
        }
    }
    let (tool, arguments) = (&call.tool, &call.arguments);
    panic!(
        "`{tool}` {arguments} blocks its thread for {shortest:?}, in each of {ATTEMPTS} calls: await, or use another thread"
    );
}

/// The longest time for which another task did not run, during a call or the beginning of a lasting one.
async fn longest_gap<H: ToolboxHarness>(
    scene: &ToolboxScene<H>,
    run: &ToolRun,
    lasting: bool,
) -> Duration {
    let events = &mut ();
    let call = CallContext::default();
    let mut end = pin!(scene.toolbox.call(run, &call, events));
    let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
    let (mut has_ended, mut ticks) = (false, 0);
    let other_task = async {
        loop {
            let is_over = has_ended;
            tokio::select! {
                biased;
                _ended = &mut end, if !has_ended => has_ended = true,
                () = tokio::time::sleep(TICK) => ticks += 1,
            }
            longest = longest.max(last.elapsed());
            last = Instant::now();
            let is_running = scene.harness.is_running() != Some(false);
            // One tick more than the call, for tasks that it leaves behind.
            if is_over || (lasting && is_running && ticks >= TICKS) {
                break;
            }
        }
    };
    with_timeout(other_task).await;
    longest
}

const LASTING: &str = "lasting";

/// How long a thread may be away: generous, as an honest call needs microseconds.
const MAX_GAP: Duration = Duration::from_millis(50);

/// Attempts at a call that needs longer.
const ATTEMPTS: usize = 20;

/// How often the other task runs during a lasting call.
const TICKS: usize = 10;
const TICK: Duration = Duration::from_millis(1);
