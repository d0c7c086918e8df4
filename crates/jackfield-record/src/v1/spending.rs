//! The form of spending records.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::caller::tags::Tag;
use jackfield_domain::price::Price;
use jackfield_domain::request::ModelRef;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::target::Reservation;
use jackfield_domain::time::WallTime;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::usage::Usage;

stored_struct! { SpendingRecord as SpendingRecordForm {
    at: WallTime,
    endpoint: Arc<str>,
    id: Arc<str>,
    model: ModelRef,
    principal: Arc<str>,
    took: Duration,
    usage: Usage;
    maybe
        first_token: Duration,
        price: Price,
        request_id: Arc<str>,
        route: Arc<str>,
        status: u32,
        trace: Arc<TraceContext>;
    many settled: Reservation, tags: Tag;
    flag own_key, repeats_facts
} }

stored_struct! { Tag as TagForm { name: Arc<str>, value: Arc<str> } }
