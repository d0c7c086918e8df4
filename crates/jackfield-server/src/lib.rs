//! A gateway from the configuration: the journal, recovery, the listener and the shutdown; and the program
//! `jackfield-http`, which is that alone.

mod certificate;
mod exporters;
mod gateway;
mod log;
mod run;
mod signals;
mod threads;

pub use jackfield_engine::chain;
pub use jackfield_gateway::{CheckedItem, Doctor};

pub use self::certificate::{TlsError, read_certificate};
pub use self::log::start_log;
pub use self::run::{RunError, RunningGateway};
pub use self::signals::{immediate_shutdown_signal, shutdown_signal};
pub use self::threads::runtime;
