//! The laws of a dialect's request mappers, for any request and any server.
//!
//! A dialect implements [`RequestMappers`] in its tests, and puts the laws over it with
//! [`request_laws!`](crate::request_laws). The vendor's rules come from the dialect, too, written from the vendor's
//! documents and not from the mapper. Each law is a function here, for a dialect that needs one under conditions of
//! its own.
//!
//! For replies there are [`ReplyMappers`](replies::ReplyMappers) and [`reply_laws!`](crate::reply_laws).

pub mod beginnings;
pub mod replies;

use std::collections::BTreeSet;
use std::fmt::Debug;

use jackfield_domain::note::Note;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;
use proptest::strategy::{BoxedStrategy, Strategy as _, ValueTree as _};
use proptest::test_runner::{TestCaseError, TestRunner};
use proptest::{prop_assert, prop_assert_eq};
use serde_json::Value;

use crate::{arrays, outline};

/// The mappers of requests, in both directions, and what their laws have to know of the vendor.
pub trait RequestMappers {
    /// What a server can do.
    type Profile: Clone + Debug;

    /// Fields of a body that may hold anything.
    const FREE_FIELDS: &'static [&'static str];
    /// The codes of all notes on requests of [`requests`](Self::requests), in order.
    const NOTES: &'static [&'static str];
    /// Whether some requests of [`requests`](Self::requests) are refused; otherwise each has a body.
    const REFUSES: bool = false;

    /// The recipient of requests.
    fn owner() -> StateOwner;

    /// Any server.
    fn profiles() -> BoxedStrategy<Self::Profile>;

    /// Any valid request with what the dialect can express.
    fn requests() -> BoxedStrategy<ModelRequest>;

    /// The body for a request to this owner, and its notes.
    ///
    /// # Errors
    ///
    /// The path of what it cannot express.
    fn write(
        request: &ModelRequest,
        owner: &StateOwner,
        profile: &Self::Profile,
    ) -> Result<(Value, Vec<Note>), String>;

    /// The request in a body.
    ///
    /// # Errors
    ///
    /// Why it is none.
    fn read(body: &[u8]) -> Result<ModelRequest, String>;

    /// Reads a body as the gateway does.
    ///
    /// # Errors
    ///
    /// The field that the error names.
    fn serve(body: &[u8]) -> Result<(), Option<String>>;

    /// The vendor's rules that a body breaks.
    fn faults(body: &Value, profile: &Self::Profile) -> Vec<String>;

    /// The body without objects that are passed on as they are, in fields that are not free elsewhere.
    #[must_use]
    fn without_free_objects(body: &Value) -> Value {
        body.clone()
    }

    /// Opaque state in a body, of which there is none for a stranger.
    fn state_in(body: &Value) -> Option<String>;

    /// This server, if it took messages in any order, in a dialect whose notes do not tell where each message went.
    #[must_use]
    fn of_any_order(profile: &Self::Profile) -> Self::Profile {
        profile.clone()
    }

    /// What came back, without messages that the mapper added; removes the notes on them.
    #[must_use]
    fn without_additions(
        back: ModelRequest,
        _notes: &mut Vec<Note>,
        _profile: &Self::Profile,
    ) -> ModelRequest {
        back
    }

    /// Whether mapping a body with these notes back is no use: a client may not send what the provider is sent.
    #[must_use]
    fn is_one_way(_notes: &[Note]) -> bool {
        false
    }
}

/// Tests all laws of a dialect's request mappers: `request_laws!(Claude);`, in a crate with `proptest`.
#[macro_export]
macro_rules! request_laws {
    ($mappers:ty) => {
        ::proptest::proptest! {
            #[test]
            fn every_valid_request_gives_wire_or_a_refusal_of_a_block_that_is_there(
                request in $crate::arb::model_request(),
                profile in <$mappers as $crate::laws::RequestMappers>::profiles(),
            ) {
                $crate::laws::a_refusal_names_a_block::<$mappers>(&request, &profile)?;
            }

            #[test]
            fn the_vendors_rules_accept_everything_that_is_made(
                request in <$mappers as $crate::laws::RequestMappers>::requests(),
                profile in <$mappers as $crate::laws::RequestMappers>::profiles(),
            ) {
                $crate::laws::rules_accept_bodies::<$mappers>(&request, &profile)?;
            }

            #[test]
            fn an_array_where_an_object_belongs_is_refused(
                request in <$mappers as $crate::laws::RequestMappers>::requests(),
                profile in <$mappers as $crate::laws::RequestMappers>::profiles(),
            ) {
                $crate::laws::arrays_are_no_objects::<$mappers>(&request, &profile)?;
            }

            #[test]
            fn out_and_back_differs_exactly_where_notes_say(
                request in <$mappers as $crate::laws::RequestMappers>::requests(),
                profile in <$mappers as $crate::laws::RequestMappers>::profiles(),
            ) {
                $crate::laws::notes_tell_differences::<$mappers>(&request, &profile)?;
            }

            #[test]
            fn mapping_what_came_back_changes_nothing(
                request in <$mappers as $crate::laws::RequestMappers>::requests(),
                profile in <$mappers as $crate::laws::RequestMappers>::profiles(),
            ) {
                $crate::laws::what_came_back_is_stable::<$mappers>(&request, &profile)?;
            }

            #[test]
            fn each_round_begins_like_the_one_before(
                request in <$mappers as $crate::laws::RequestMappers>::requests(),
                profile in <$mappers as $crate::laws::RequestMappers>::profiles(),
            ) {
                $crate::laws::beginnings::rounds_begin_alike::<$mappers>(&request, &profile)?;
            }

            #[test]
            fn another_owners_state_is_never_sent(
                request in <$mappers as $crate::laws::RequestMappers>::requests(),
                profile in <$mappers as $crate::laws::RequestMappers>::profiles(),
            ) {
                $crate::laws::strangers_get_no_state::<$mappers>(&request, &profile)?;
            }

            #[test]
            fn no_json_makes_the_server_side_panic(
                text in ".{0,80}",
                body in $crate::arb::json(),
                profile in <$mappers as $crate::laws::RequestMappers>::profiles(),
            ) {
                $crate::laws::nothing_panics::<$mappers>(&text, &body, &profile);
            }
        }

        /// A law about notes that never come says nothing: every note there is comes up.
        #[test]
        fn the_generators_reach_every_note() {
            $crate::laws::every_note_is_reached::<$mappers>();
        }
    };
}

type Law = Result<(), TestCaseError>;

fn fail(reason: impl Into<String>) -> TestCaseError {
    TestCaseError::fail(reason.into())
}

/// The body, or `None` where a refusal is fine.
fn body<M: RequestMappers>(
    request: &ModelRequest,
    profile: &M::Profile,
) -> Result<Option<(Value, Vec<Note>)>, TestCaseError> {
    match M::write(request, &M::owner(), profile) {
        Ok(made) => Ok(Some(made)),
        Err(_) if M::REFUSES => Ok(None),
        Err(path) => Err(fail(format!("{path} is refused"))),
    }
}

fn back<M: RequestMappers>(body: &Value) -> Result<ModelRequest, TestCaseError> {
    M::read(body.to_string().as_bytes()).map_err(fail)
}

/// A request that cannot be expressed is refused for a place that it has.
///
/// # Errors
///
/// A broken law.
pub fn a_refusal_names_a_block<M: RequestMappers>(
    request: &ModelRequest,
    profile: &M::Profile,
) -> Law {
    if let Err(path) = M::write(request, &M::owner(), profile) {
        let mut tree = outline::of_request(request);
        prop_assert!(outline::take(&mut tree, &path).is_some(), "{path}");
    }
    Ok(())
}

/// A body keeps the vendor's rules.
///
/// # Errors
///
/// A broken law.
pub fn rules_accept_bodies<M: RequestMappers>(request: &ModelRequest, profile: &M::Profile) -> Law {
    if let Some((body, _)) = body::<M>(request, profile)? {
        let faults = M::faults(&body, profile);
        prop_assert!(faults.is_empty(), "{faults:?}\n{body:#}");
    }
    Ok(())
}

/// A body with an array in place of an object is refused, and the error names a field.
///
/// # Errors
///
/// A broken law.
pub fn arrays_are_no_objects<M: RequestMappers>(
    request: &ModelRequest,
    profile: &M::Profile,
) -> Law {
    let Some((body, _)) = body::<M>(request, profile)? else {
        return Ok(());
    };
    let body = M::without_free_objects(&body);
    if M::serve(body.to_string().as_bytes()).is_err() {
        return Ok(());
    }
    for (place, changed) in arrays::arrays_for_objects(&body, M::FREE_FIELDS) {
        match M::serve(changed.to_string().as_bytes()) {
            Ok(()) => return Err(fail(format!("{place}: {changed}"))),
            Err(named) => prop_assert!(named.is_some(), "{place}"),
        }
    }
    Ok(())
}

/// A request that is mapped out and back differs exactly where notes say so.
///
/// # Errors
///
/// A broken law.
pub fn notes_tell_differences<M: RequestMappers>(
    request: &ModelRequest,
    profile: &M::Profile,
) -> Law {
    let profile = M::of_any_order(profile);
    let Some((body, mut notes)) = body::<M>(request, &profile)? else {
        return Ok(());
    };
    let back = M::without_additions(back::<M>(&body)?, &mut notes, &profile);
    let mut original = outline::of_request(request);
    let done = outline::apply_structure(&mut original, &notes);
    let checked = outline::check(&original, &outline::of_request(&back), &notes, &done);
    checked.map_err(|why| fail(format!("{why}\n{body:#}")))
}

/// What came back is mapped to the same body, without notes.
///
/// # Errors
///
/// A broken law.
pub fn what_came_back_is_stable<M: RequestMappers>(
    request: &ModelRequest,
    profile: &M::Profile,
) -> Law {
    let Some((first, notes)) = body::<M>(request, profile)? else {
        return Ok(());
    };
    if M::is_one_way(&notes) {
        return Ok(());
    }
    let again = M::write(&back::<M>(&first)?, &M::owner(), profile);
    let (again, notes) = again.map_err(|path| fail(format!("{path} is refused")))?;
    let difference = first_difference(&first, &again, "");
    prop_assert_eq!(difference, None);
    prop_assert!(notes.is_empty(), "{notes:#?}\n{first:#}");
    Ok(())
}

/// A stranger is sent no opaque state.
///
/// # Errors
///
/// A broken law.
pub fn strangers_get_no_state<M: RequestMappers>(
    request: &ModelRequest,
    profile: &M::Profile,
) -> Law {
    let stranger = StateOwner {
        model: "nobody's".into(),
        ..M::owner()
    };
    if let Ok((body, _)) = M::write(request, &stranger, profile) {
        let state = M::state_in(&body);
        prop_assert!(state.is_none(), "{state:?} in {body:#}");
    }
    Ok(())
}

/// Reading and judging any bytes ends in a value or an error.
pub fn nothing_panics<M: RequestMappers>(text: &str, body: &Value, profile: &M::Profile) {
    drop(M::read(text.as_bytes()));
    drop(M::read(body.to_string().as_bytes()));
    drop(M::faults(body, profile));
}

/// The generators reach every note, and no other.
///
/// # Panics
///
/// If they do not.
pub fn every_note_is_reached<M: RequestMappers>() {
    let mut runner = TestRunner::deterministic();
    let strategy = (M::requests(), M::profiles());
    let mut reached = BTreeSet::new();
    for _ in 0..CASES {
        let Ok(case) = strategy.new_tree(&mut runner) else {
            panic!("the generators filter too much");
        };
        let (request, profile) = case.current();
        match body::<M>(&request, &profile) {
            Ok(made) => {
                let notes = made.map(|(_, notes)| notes).into_iter().flatten();
                reached.extend(notes.map(|note| note.code.into_owned()));
            }
            Err(refused) => panic!("{refused}"),
        }
    }
    let known: BTreeSet<String> = M::NOTES.iter().map(|code| (*code).to_owned()).collect();
    let missed: Vec<&String> = known.difference(&reached).collect();
    let unknown: Vec<&String> = reached.difference(&known).collect();
    assert!(
        missed.is_empty() && unknown.is_empty(),
        "missed: {missed:?}, unknown: {unknown:?}"
    );
}

/// The first place at which two bodies differ, and what they say there.
fn first_difference(one: &Value, other: &Value, path: &str) -> Option<String> {
    let deeper: Vec<(String, &Value, &Value)> = match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            let fields = one.iter().zip(other.values());
            fields
                .map(|((key, one), other)| (key.clone(), one, other))
                .collect()
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let items = one.iter().zip(other).enumerate();
            items
                .map(|(n, (one, other))| (n.to_string(), one, other))
                .collect()
        }
        (one, other) if one == other => return None,
        _ => return Some(format!("{path}: {one} became {other}")),
    };
    deeper
        .into_iter()
        .find_map(|(key, one, other)| first_difference(one, other, &format!("{path}/{key}")))
}

/// The requests by which the generators are judged.
const CASES: usize = 3000;
