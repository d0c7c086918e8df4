//! Tool search: what is deferred, what a search reveals, and to whom; and that it outlives the process.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::fact::CallEnd;
use jackfield_domain::fork;
use jackfield_domain::ids::{SessionId, ToolName, ToolboxId};
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::replay::Replay;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::{InputFormat, Safety, ToolChoice, ToolSpec};
use jackfield_engine::{Engine, SendMessage, ToolSearch, ToolboxStatus, TurnOptions, TurnReport};
use jackfield_ports::journal::Journal;
use jackfield_ports::toolbox_source::{RegisteredToolbox, ToolboxSet, ToolboxSource};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{Gate, ScriptedCall, ScriptedModel, ScriptedReply, ScriptedToolbox};
use serde_json::json;

use crate::fixture::{message, options, session};
use crate::resuming::{ends, over, resume};
use crate::toolbox_sources::caller;

/// The tools of the toolbox, each with what it does.
const TOOLS: [(&str, &str); 12] = [
    ("send_mail", "Sends a message by electronic mail."),
    ("listMessages", "Lists the messages of a mailbox."),
    ("create_issue", "Opens a ticket in the tracker."),
    ("close_issue", "Closes a ticket in the tracker."),
    ("weather", "查询城市的天气预报。"),
    ("stocks", "查询股票价格。"),
    ("resize", "Makes an image smaller."),
    ("translate", "Translates a text into another language."),
    ("deploy", "Deploys a release to production."),
    ("rollback", "Goes back to the release before."),
    ("query", "Runs a query on the database."),
    ("ping", "Pings a host."),
];

fn searching() -> TurnOptions {
    let mut options = options();
    options.tool_search.enabled = true;
    options
}

fn toolbox(id: &str, tools: &[(&str, &str)]) -> ScriptedToolbox {
    let toolbox = ScriptedToolbox::new(ToolboxId::parse(id).expect("a valid id"));
    for (name, description) in tools {
        let argument = json!({ "type": "string", "description": format!("What to {name}.") });
        let schema = json!({ "type": "object", "properties": { "subject": argument } });
        toolbox.spec(ToolSpec {
            description: (*description).into(),
            icon: None,
            input: InputFormat::Json(Arc::new(schema)),
            name: (*name).into(),
            output: None,
            safety: Safety::ReadOnly,
            time_limit: None,
            title: None,
        });
        toolbox.set_default_call(name, ScriptedCall::text("done"));
    }
    toolbox
}

fn engine(journal: &Arc<MemoryJournal>, model: &ScriptedModel, tools: &ScriptedToolbox) -> Engine {
    Engine::builder(Arc::clone(journal) as Arc<dyn Journal>)
        .model("provider", model.port())
        .toolbox(tools.port())
        .build()
}

/// A turn of the session with these options.
async fn send(
    journal: &Arc<MemoryJournal>,
    model: &ScriptedModel,
    tools: &ScriptedToolbox,
    options: TurnOptions,
) -> TurnReport {
    let engine = engine(journal, model, tools);
    let report = engine.send(message(options), &mut ()).await;
    report.expect("a report")
}

/// A model that calls these tools, one a round, and then says that it is done.
fn model(calls: &[(&str, &str)]) -> ScriptedModel {
    let model = ScriptedModel::new();
    for call in calls {
        model.push_reply(ScriptedReply::calls([*call]));
    }
    model.push_reply(ScriptedReply::text("done"));
    model
}

fn offered(request: &ModelRequest) -> Vec<&str> {
    let tools = request.tools.iter();
    tools.map(|tool| tool.name.as_str()).collect()
}

/// What each request offered, and that it begins with what the one before it offered.
fn offers(model: &ScriptedModel) -> Vec<Vec<String>> {
    let requests = model.requests();
    for pair in requests.windows(2) {
        assert!(pair[1].tools.starts_with(&pair[0].tools));
    }
    let offers = requests.iter().map(|request| {
        let names = offered(request).into_iter();
        names.map(ToOwned::to_owned).collect()
    });
    offers.collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_search_finds_is_appended_to_the_offer_and_can_be_called() {
    let (journal, tools) = (Arc::default(), toolbox("box", &TOOLS));
    let first = model(&[
        ("find_tools", r#"{"query":"send an e-mail","limit":1}"#),
        ("box__send_mail", "{}"),
        (
            "find_tools",
            r#"{"query":"select:box__ping, box__create_issue"}"#,
        ),
    ]);
    let report = send(&journal, &first, &tools, searching()).await;
    assert_eq!(ends(&report), [CallEnd::Ran; 3]);
    let all = [
        "find_tools",
        "box__send_mail",
        "box__ping",
        "box__create_issue",
    ];
    assert_eq!(offers(&first), [&all[..1], &all[..2], &all[..2], &all[..4]]);
    assert_eq!(tools.runs().len(), 1);

    // The next turn begins with what this one found.
    let second = model(&[("box__ping", "{}")]);
    let report = send(&journal, &second, &tools, searching()).await;
    assert_eq!(ends(&report), [CallEnd::Ran]);
    assert_eq!(offers(&second), [all; 2]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_no_search_found_is_not_run() {
    let (journal, tools) = (Arc::default(), toolbox("box", &TOOLS));
    let script = model(&[
        ("box__deploy", "{}"),
        ("find_tools", r#"{"query":"xyzzy"}"#),
    ]);
    let report = send(&journal, &script, &tools, searching()).await;
    assert_eq!(ends(&report), [CallEnd::NotRun, CallEnd::Ran]);
    let told = report.calls.first().map(|call| call.result.to_text());
    let told = told.expect("a result");
    assert!(told.contains("`select:box__deploy`"), "{told}");
    assert_eq!(offers(&script), [["find_tools"]; 3]);
    assert_eq!(tools.runs(), []);
}

#[tokio::test(start_paused = true)]
async fn a_search_ranks_by_words_of_any_language() {
    for (query, best) in [
        ("sending mails", "box__send_mail"),
        ("messages", "box__listMessages"),
        ("open a new ticket", "box__create_issue"),
        ("close issues", "box__close_issue"),
        ("天气", "box__weather"),
        ("股票", "box__stocks"),
        ("what to resize", "box__resize"),
        ("SQL database", "box__query"),
    ] {
        let (journal, tools) = (Arc::default(), toolbox("box", &TOOLS));
        let arguments = json!({ "query": query }).to_string();
        let script = model(&[("find_tools", &arguments)]);
        send(&journal, &script, &tools, searching()).await;
        assert_eq!(offers(&script)[1].get(1).map(|name| &**name), Some(best));
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_of_a_dead_process_goes_on_with_what_it_had_found() {
    let (journal, tools) = (Arc::default(), toolbox("box", &TOOLS));
    let hanging = Gate::new();
    tools.push_call("ping", ScriptedCall::text("never").held_at(&hanging));
    let first = model(&[
        ("find_tools", r#"{"query":"select:box__ping"}"#),
        ("box__ping", "{}"),
    ]);
    let dying = engine(&journal, &first, &tools);
    let mut nobody = ();
    tokio::select! {
        report = dying.send(message(searching()), &mut nobody) => panic!("it ended: {report:?}"),
        () = hanging.reached() => {}
    }
    let second = model(&[
        ("find_tools", r#"{"query":"select:box__deploy"}"#),
        ("box__deploy", "{}"),
    ]);
    let next = engine(&journal, &second, &tools);
    let report = over(next.resume(resume(), &mut ()).await);
    assert_eq!(ends(&report), [CallEnd::Ran; 4]);
    let all = ["find_tools", "box__ping", "box__deploy"];
    assert_eq!(offers(&second), [&all[..2], &all[..], &all[..]]);

    let loaded = journal.load(&session()).await.expect("a session");
    let mut replay = Replay::new(session(), &loaded.deliveries);
    for step in &loaded.steps {
        let replayed = replay.step(step);
        assert!(replayed.is_same(), "{replayed:#?}");
    }

    // A fork after the first search has what that found, and no more.
    let facts = || loaded.steps.iter().flat_map(|step| &step.facts);
    let place = fork::places(session(), facts()).into_iter().next();
    let to = SessionId::parse("fork").expect("an id");
    let forked = next.fork(&session(), &place.expect("a place"), &to).await;
    forked.expect("a fork");
    let third = model(&[]);
    let sent = SendMessage {
        session: to,
        ..message(searching())
    };
    let sent = engine(&journal, &third, &tools).send(sent, &mut ()).await;
    sent.expect("a report");
    assert_eq!(offers(&third), [all[..2].to_vec()]);
}

#[tokio::test(start_paused = true)]
async fn what_is_offered_from_the_beginning_is_said_by_the_options() {
    let many = TOOLS.map(|(name, _)| format!("box__{name}"));
    let mut many: Vec<&str> = many.iter().map(|name| &**name).collect();
    many.sort_unstable();
    let off = options();
    let mut always = searching();
    always.tool_search.always = vec!["box/send*".into(), "box/ping".into()];
    let mut limited = searching();
    let named = |name| ToolName::parse(name).expect("a valid name");
    limited.choice = ToolChoice::Only {
        required: false,
        tools: vec![named("box__ping"), named("box__query")],
    };
    let mut chosen = searching();
    chosen.choice = ToolChoice::Named(named("box__ping"));
    let mut one_round = searching();
    one_round.limits.rounds = 2;
    let few = ["box__send_mail", "box__listMessages"];
    let mut sorted = few;
    sorted.sort_unstable();
    for (options, tools, expected) in [
        (off, &TOOLS[..], &many[..]),
        (searching(), &TOOLS, &["find_tools"]),
        (
            always,
            &TOOLS,
            &["box__ping", "box__send_mail", "find_tools"],
        ),
        // The request says what there is.
        (limited, &TOOLS, &many),
        (chosen, &TOOLS, &["find_tools", "box__ping"]),
        (one_round, &TOOLS, &many),
        // A search would be longer than so few definitions.
        (searching(), &TOOLS[..2], &sorted),
    ] {
        let (journal, tools) = (Arc::default(), toolbox("box", tools));
        let script = model(&[]);
        send(&journal, &script, &tools, options).await;
        assert_eq!(offers(&script), [expected]);
    }
    assert!(!ToolSearch::default().enabled);
}

/// A toolbox for each principal.
struct People(Vec<(&'static str, ScriptedToolbox)>);

#[async_trait]
impl ToolboxSource for People {
    async fn toolboxes(&self, principal: Option<&str>) -> ToolboxSet {
        let own = self.0.iter().filter(|(name, _)| Some(*name) == principal);
        let own = own.map(|(_, toolbox)| RegisteredToolbox {
            status: ToolboxStatus::default(),
            toolbox: toolbox.port(),
        });
        ToolboxSet {
            problems: Vec::new(),
            toolboxes: own.collect(),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_finds_only_what_its_principal_may_use() {
    let people = ["ann", "ben"].map(|name| (name, toolbox(name, &TOOLS)));
    let people = Arc::new(People(people.into()));
    for (name, other) in [("ann", "ben"), ("ben", "ann")] {
        let query = format!(r#"{{"query":"select:{other}__ping,{name}__ping,{name}__deploy"}}"#);
        let script = model(&[
            ("find_tools", &query),
            ("find_tools", r#"{"query":"ping"}"#),
        ]);
        let engine = Engine::builder(Arc::new(MemoryJournal::default()))
            .model("provider", script.port())
            .toolbox_source(Arc::clone(&people) as Arc<dyn ToolboxSource>)
            .build();
        let mut options = searching();
        options.caller = Some(Arc::new(caller(name)));
        options.policy.rules.push(PolicyRule {
            pattern: "*/deploy".into(),
            verdict: RuleVerdict::Deny,
        });
        let report = engine.send(message(options), &mut ()).await;
        report.expect("a report");
        // What the policy denies is not found, either.
        let found = vec!["find_tools".to_owned(), format!("{name}__ping")];
        assert_eq!(offers(&script)[1..], [found.clone(), found]);
        let description = &script.requests()[0].tools[0].description;
        assert!(description.contains(name) && !description.contains(other));
    }
}

/// Whether a query finds a tool with this description.
async fn finds(query: &str, description: &str) -> bool {
    // Below ten tools, none is deferred.
    let mut all = vec![("t1", description)];
    all.extend(["t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", "t10"].map(|name| (name, "")));
    let (journal, tools) = (Arc::default(), toolbox("box", &all));
    let script = model(&[("find_tools", &json!({ "query": query }).to_string())]);
    send(&journal, &script, &tools, searching()).await;
    let found = offers(&script).swap_remove(1);
    let found: Vec<&str> = found.iter().skip(1).map(|name| &**name).collect();
    assert!(matches!(*found, [] | ["box__t1"]), "{query}: {found:?}");
    !found.is_empty()
}

#[tokio::test(start_paused = true)]
async fn a_search_splits_names_and_minds_no_endings() {
    for (query, description) in [
        ("create", "create_issue"),
        ("Issue", "create_issue"),
        ("create_issue", "Create"),
        ("create_issue", "an issue"),
        ("list", "lists a file"),
        ("lists", "list-files"),
        ("file", "list-files"),
        ("Creating", "created the issue"),
        ("issues", "created the issue"),
        ("queries", "query"),
        ("searches", "search"),
        ("git", "GitHub"),
        ("hub", "GitHub"),
        ("GitHub", "git"),
        ("GitHub", "hub"),
        ("github", "GitHub"),
        ("gas", "gas as ss"),
        ("ss", "gas as ss"),
    ] {
        assert!(finds(query, description).await, "{query} in {description}");
    }
    for (query, description) in [
        ("the tool for a need", "the tool for a need"),
        ("as", "gas as ss"),
        ("ga", "gas as ss"),
        ("s", "gas as ss"),
    ] {
        assert!(!finds(query, description).await, "{query} in {description}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_takes_pairs_of_characters_where_no_spaces_are_written() {
    for (query, description, found) in [
        ("查询", "查询天气API", true),
        ("询天", "查询天气API", true),
        ("天气", "查询天气API", true),
        ("api", "查询天气API", true),
        ("气", "查询天气API", false),
        ("查天", "查询天气API", false),
        ("气API", "查询天气", false),
        ("字", "字 天气", true),
        ("天气", "字 天气", true),
        ("字天", "字 天气", false),
        ("天気", "天気 Über", true),
        ("über", "天気 Über", true),
    ] {
        let is_found = finds(query, description).await;
        assert_eq!(is_found, found, "{query} in {description}");
    }
}
