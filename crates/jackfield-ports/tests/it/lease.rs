//! The deadline of a lease.

use std::time::{Duration, Instant};

use jackfield_ports::journal::{Epoch, Lease};
use jackfield_ports::lease::LeaseDeadline;

#[test]
fn a_lease_without_an_end_never_passes() {
    let lease = Lease::unlimited(Epoch(1));
    lease.deadline.extend_to(Instant::now());
    lease.deadline.end_now();
    assert!(lease.deadline.is_never());
    assert!(!lease.deadline.has_passed());
}

#[test]
fn a_deadline_has_passed_from_its_instant_on_until_it_is_extended() {
    let deadline = LeaseDeadline::at(Instant::now());
    assert!(deadline.has_passed());
    deadline.extend_to(Instant::now() + AN_HOUR);
    assert!(!deadline.has_passed());
}

#[test]
fn clones_share_a_deadline_and_it_is_not_moved_to_an_earlier_instant() {
    let deadline = LeaseDeadline::at(Instant::now() + AN_HOUR);
    let owner = deadline.clone();
    deadline.extend_to(Instant::now());
    assert!(!owner.has_passed());
    deadline.end_now();
    assert!(owner.has_passed());
}

const AN_HOUR: Duration = Duration::from_secs(60 * 60);
