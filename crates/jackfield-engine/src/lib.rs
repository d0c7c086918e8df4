//! Performs what the loop asks for: the only caller of the ports.
//!
//! [`Engine::send`] drives one turn: it commits what the loop decides, then performs it, then tells
//! whoever watches. [`Engine::resume`] takes up a turn that was left. [`Engine::begin`] and
//! [`Engine::go_on`] do the same in the background, for callers that may go away. None of them decides
//! anything itself.

mod alarm;
mod approver;
mod asking;
mod batch;
mod begin;
mod calling;
mod catalog;
mod clients;
mod clock;
mod collect;
mod commit;
mod crash;
mod direct;
mod driver;
mod engine;
mod error;
mod events;
mod going;
mod keeper;
mod late;
mod listening;
mod locate;
mod news;
mod noticed;
mod occupied;
mod openings;
mod options;
mod ownership;
mod passing;
mod patience;
mod perform;
mod questions;
mod queues;
mod report;
mod resume;
mod retention;
mod send;
mod sessions;
mod settled;
mod today;
mod validate;
mod wanted;
mod watch;
mod writes;

pub use jackfield_ports::chat_model::Capabilities;
pub use jackfield_ports::journal::marks::{Found, Mark};
pub use jackfield_ports::journal::sessions::{OpenTurn, SessionQuery, SessionRow};
pub use jackfield_ports::journal::{Delivered, Hold, JournalError, Loaded};

pub use self::approver::{Approver, Decision, Undecided};
pub use self::begin::Begun;
pub use self::catalog::{Offered, Problem, Standing, unusable};
pub use self::clients::{AnswerCalls, Answered, CLIENT};
pub use self::clock::{Clock, SystemClock};
pub use self::collect::{Claim, Collected, Request};
pub use self::direct::{DirectCall, PassedOn, Progress};
pub use self::engine::{Engine, EngineBuilder};
pub use self::error::{EngineError, Parked};
pub use self::going::Drained;
pub use self::keeper::{Keeper, KeeperOptions, Kept};
pub use self::listening::Connection;
pub use self::locate::Place;
pub use self::news::{News, Observer};
pub use self::options::{Disconnect, SendMessage, ServerTools, TurnOptions};
pub use self::passing::Passing;
pub use self::questions::Asked;
pub use self::report::{CallReport, TurnReport, reports};
pub use self::resume::{Driven, ResumeSession, Waiting};
pub use self::retention::{Pruned, Pruner, Retention};
pub use self::send::SecondMessage;
pub use self::validate::AnswerFit;
pub use self::watch::Watcher;
