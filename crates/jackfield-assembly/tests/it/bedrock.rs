//! The abilities of models behind Bedrock, as they are configured.

use jackfield_assembly::{Environment, Registry};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Opening;
use jackfield_engine::SendMessage;
use jackfield_testkit::server::{Response, TestServer};

use crate::world::World;

/// Llama takes tools, but does not stream beside them. An application inference profile does not name its model.
#[tokio::test]
async fn a_profile_of_an_application_has_the_abilities_that_the_configuration_gives_it() {
    for (settings, method) in [
        ("", "converse-stream"),
        ("like = 'us.meta.llama3-3-70b-instruct-v1:0'", "converse"),
        ("quirks.streams_tools = false", "converse"),
        (
            "like = 'us.meta.llama3-3-70b-instruct-v1:0'\nquirks.streams_tools = true",
            "converse-stream",
        ),
    ] {
        let server = TestServer::start().await;
        server.answer(Response::json(400, r#"{"message":"no"}"#));
        let base_url = server.base_url();
        let table = format!("[providers.bedrock]\nbase_url = '{base_url}'\n{settings}");
        let environment = Environment::from_iter([("AWS_BEARER_TOKEN_BEDROCK", "k")]);
        let config = World::new().with_user(table).load().unwrap();
        let assembled = Registry::default().assemble(&config, &environment).unwrap();
        let mut options = assembled.options.clone();
        let arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc";
        options.model = ModelRef {
            model: arn.into(),
            provider: "bedrock".into(),
        };
        let message = SendMessage {
            opening: Opening::UserMessage(Message::user("Hello").into()),
            options,
            session: SessionId::parse("a").unwrap(),
        };
        assembled.engine.send(message, &mut ()).await.unwrap();
        let path = &server.request(0).await.path;
        assert_eq!(path.rsplit('/').next(), Some(method), "{settings}");
    }
}
