//! Ask models behind Bedrock's Converse.

use jackfield_testservers::bedrock::ScriptedBedrock;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use jackfield_testservers::scripted::ScriptedServer;
use serde_json::json;

use crate::harness::{Jackfield, jackfield, kept};

const CLAUDE: &str = "bedrock/us.anthropic.claude-opus-5-5";

fn bedrock<const N: usize>(arguments: [&str; N], server: &ScriptedServer) -> Jackfield {
    let base_url = server.base_url();
    let configuration = format!(
        "model = \"{CLAUDE}\"\n[providers.bedrock]\nbase_url = \"{base_url}\"\nregion = \"us-east-1\"\n"
    );
    let asked = jackfield(arguments).configured(configuration);
    asked.env("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-any")
}

#[tokio::test]
async fn hello_is_answered_streamed_or_whole() {
    for turn in [
        ScriptTurn::text("Hello! 你好"),
        ScriptTurn::text("Hello! 你好").whole(),
    ] {
        let server = ScriptedBedrock::start([turn]).await;
        let ran = bedrock(["ask", "Hello"], &server).run().await;
        ran.answers("Hello! 你好\n");
        ran.says("1 round · 0 calls");
        let seen = server.server().requests();
        assert_eq!(
            seen[0].path,
            "/model/us.anthropic.claude-opus-5-5/converse-stream"
        );
        assert_eq!(
            seen[0].header("authorization"),
            Some("Bearer bedrock-api-key-any")
        );
        kept(&server);
    }
}

#[tokio::test]
async fn parallel_calls_go_back_with_their_results_and_the_reasoning_before_them() {
    let thinking = ScriptPart::Thinking {
        signature: "c2lnbmVk".to_owned(),
        text: "Two sums.".to_owned(),
    };
    let calls = ScriptTurn::reply([thinking])
        .and_call("calculator", &json!({ "expression": "2^20000 mod 7" }))
        .and_call("calculator", &json!({ "expression": "1+1" }));
    let server = ScriptedBedrock::start([calls, ScriptTurn::text("4 and 2.").when("2")]).await;
    let ran = bedrock(["ask", "calculate"], &server).run().await;
    ran.answers("4 and 2.\n");
    let messages = &server.requests()[1]["messages"];
    let [said, results] = [&messages[1]["content"], &messages[2]["content"]];
    assert_eq!(
        said[0]["reasoningContent"]["reasoningText"],
        json!({ "text": "Two sums.", "signature": "c2lnbmVk" })
    );
    for (place, result) in ["4", "2"].iter().enumerate() {
        let (call, result_block) = (&said[place + 1]["toolUse"], &results[place]["toolResult"]);
        assert_eq!(result_block["toolUseId"], call["toolUseId"]);
        assert_eq!(result_block["content"], json!([{ "text": result }]));
    }
    kept(&server);
}

/// Keys of an account sign each request, and the secret one does not leave the machine.
#[tokio::test]
async fn keys_of_an_account_sign_requests() {
    let server = ScriptedBedrock::start([ScriptTurn::text("Hello!")]).await;
    let asked = bedrock(["ask", "Hello"], &server).env("AWS_BEARER_TOKEN_BEDROCK", "");
    let asked = asked.env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
    let ran = asked
        .env("AWS_SECRET_ACCESS_KEY", "secret-of-the-account")
        .run()
        .await;
    ran.answers("Hello!\n");
    let seen = &server.server().requests()[0];
    let authorization = seen.header("authorization").expect("a signature");
    assert!(
        authorization.contains("Credential=AKIDEXAMPLE/")
            && authorization.contains("/us-east-1/bedrock/aws4_request"),
        "{authorization}"
    );
    assert!(!format!("{seen:?}").contains("secret-of-the-account"));
    kept(&server);
}

/// What Bedrock answers to a wrong key, to a model that is not in the region, and to a used quota.
#[tokio::test]
async fn a_refusal_says_what_to_do() {
    for (status, name, message, says) in [
        (
            403,
            "com.amazon.coral.service#UnrecognizedClientException",
            "The security token included in the request is invalid.",
            "Check AWS_BEARER_TOKEN_BEDROCK",
        ),
        (
            400,
            "ValidationException",
            "The provided model identifier is invalid.",
            "this region has it",
        ),
        (
            429,
            "ThrottlingException",
            "Too many tokens per day, please wait before trying again.",
            "wait for tomorrow",
        ),
    ] {
        let refusal = json!({ "__type": name, "message": message });
        let server = ScriptedBedrock::start([ScriptTurn::status(status, &refusal)]).await;
        let ran = bedrock(["ask", "Hello"], &server).run().await;
        assert_ne!(ran.code, Some(0), "{message}");
        assert!(ran.err.contains(says), "{}", ran.err);
        kept(&server);
    }
}

#[tokio::test]
async fn a_missing_region_and_a_missing_key_are_named() {
    let configuration = format!("model = \"{CLAUDE}\"\n[providers.bedrock]\n");
    let ran = jackfield(["ask", "Hello"])
        .configured(configuration.clone())
        .run()
        .await;
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("AWS_REGION"), "{}", ran.err);
    let ran = jackfield(["ask", "Hello"])
        .configured(configuration)
        .env("AWS_REGION", "us-east-1");
    let ran = ran.run().await;
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("AWS_BEARER_TOKEN_BEDROCK"), "{}", ran.err);
}
