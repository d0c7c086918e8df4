//! Files and images that go along with a question, and answers as one document.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openai::{ScriptedOpenAi, VendorQuirks};
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{McpServer, jackfield, kept, tool, without_cache_points};

const GIF: &[u8] = b"GIF89a\x01";
const PDF: &[u8] = b"%PDF-1.7\n%\xe2\xe3";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0123";
const WEBP: &[u8] = b"RIFF\0\0\0\0WEBPVP8 ";

#[tokio::test]
async fn files_and_images_go_before_the_question_as_what_they_are() {
    let claude = ScriptedClaude::start([ScriptTurn::text("I have seen it.")]).await;
    let ask = jackfield([
        "ask",
        "--file",
        "a.md",
        "-f",
        "b.pdf",
        "-f",
        "c.gif",
        "--image",
        "d",
        "-i",
        "e.txt",
        "What is it?",
    ]);
    let ask = ask
        .in_project("a.md", "# Notes\n\n")
        .in_project("b.pdf", PDF)
        .in_project("c.gif", GIF)
        .in_project("d", PNG)
        .in_project("e.txt", WEBP);
    let ran = ask.at(&claude.base_url()).run().await;
    ran.answers("I have seen it.\n");
    let content = claude.requests()[0]["messages"][0]["content"].clone();
    let content = without_cache_points(content);
    let image = |media_type: &str, data: &str| json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": data } });
    assert_eq!(
        content,
        json!([
            { "type": "text", "text": "<file name=\"a.md\">\n# Notes\n</file>" },
            { "type": "document", "title": "b.pdf",
              "source": { "type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjcKJeLj" } },
            image("image/gif", "R0lGODlhAQ=="),
            image("image/png", "iVBORw0KGgowMTIz"),
            image("image/webp", "UklGRgAAAABXRUJQVlA4IA=="),
            { "type": "text", "text": "What is it?" },
        ])
    );
    kept(&claude);
}

#[tokio::test]
async fn a_file_alone_is_a_message() {
    let claude = ScriptedClaude::start([ScriptTurn::text("A list.")]).await;
    let ask = jackfield(["ask", "--file", "a\".md", "--system", "Say what it is."]);
    let ran = ask.in_project("a\".md", "- x").at(&claude.base_url());
    ran.run().await.answers("A list.\n");
    assert_eq!(
        claude.requests()[0]["messages"][0]["content"],
        json!([{ "type": "text", "text": "<file name=\"a_.md\">\n- x\n</file>" }])
    );
    kept(&claude);
}

#[tokio::test]
async fn openai_gets_them_in_its_own_words() {
    let openai = ScriptedOpenAi::start([ScriptTurn::text("Both.")]).await;
    let config = format!("[providers.openai]\nbase_url = \"{}\"", openai.base_url());
    let ask = jackfield([
        "ask",
        "-m",
        "openai/gpt-6.2-sol",
        "-f",
        "b.pdf",
        "-i",
        "d.png",
        "What?",
    ]);
    let ask = ask
        .in_project("b.pdf", PDF)
        .in_project("d.png", PNG)
        .env("OPENAI_API_KEY", "sk-any")
        .configured(config);
    ask.run().await.answers("Both.\n");
    let input = openai.requests()[0]["input"].to_string();
    assert!(input.contains(r#""filename":"b.pdf""#), "{input}");
    assert!(
        input.contains("data:application/pdf;base64,JVBERi0xLjcKJeLj"),
        "{input}"
    );
    assert!(
        input.contains("data:image/png;base64,iVBORw0KGgowMTIz"),
        "{input}"
    );
    kept(&openai);
}

#[tokio::test]
async fn a_model_that_sees_nothing_is_not_asked() {
    let deepseek = ScriptedOpenAi::like(VendorQuirks::DeepSeek, []).await;
    let config = format!(
        "[providers.deepseek]\nbase_url = \"{}\"",
        deepseek.base_url()
    );
    let ask = jackfield([
        "ask",
        "-m",
        "deepseek/deepseek-flash",
        "-i",
        "d.png",
        "What?",
    ]);
    let ask = ask
        .in_project("d.png", PNG)
        .env("DEEPSEEK_API_KEY", "sk-any")
        .configured(config);
    let ran = ask.run().await;
    ran.fails(4, "takes pictures only", "take another model with --model");
    assert_eq!(deepseek.requests().len(), 0);
    kept(&deepseek);
}

#[tokio::test]
async fn files_of_results_are_saved_for_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let content = json!([
        { "type": "text", "text": "Here." },
        { "type": "image", "data": "QUJD", "mimeType": "image/png" },
        { "type": "resource", "resource": { "uri": "file:///notes.md", "mimeType": "text/markdown", "text": "# Notes" } },
    ]);
    for (flag, is_events) in [("--json", true), ("--output=json", false)] {
        let server = McpServer::new(json!({
            "tools": [tool("draw")], "calls": { "draw": [{ "reply": { "content": content, "isError": false } }] },
        }));
        let claude = ScriptedClaude::start([
            ScriptTurn::call("s__draw", &json!({})),
            ScriptTurn::text("Drawn."),
        ])
        .await;
        let out = folder.path().join(if is_events { "a" } else { "b" });
        let ask = jackfield(["ask", flag, "--yes", "--save-files"]);
        let ask = ask
            .more(&[&out.display().to_string(), "draw"])
            .servers([("s", server.entry())]);
        let ran = ask.at(&claude.base_url()).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let last = match is_events {
            true => ran.out.lines().last().unwrap_or_default(),
            false => ran.out.as_str(),
        };
        let told: Value = serde_json::from_str(last).expect("JSON");
        let saved = &told["calls"][0]["saved"];
        assert_eq!(saved[0]["media_type"], "image/png", "{told}");
        let path = saved[0]["path"].as_str().expect("a path");
        assert!(
            path.starts_with(&out.display().to_string()) && path.ends_with("-1.png"),
            "{path}"
        );
        assert_eq!(std::fs::read(path).expect("a file"), b"ABC");
        kept(&claude);
    }
    let ran = jackfield(["ask", "--save-files", "x", "hello"])
        .at("http://127.0.0.1:1")
        .run()
        .await;
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    ran.says("needs --json or --output json");
}

#[tokio::test]
async fn files_of_a_call_by_hand_are_saved_beside_those_of_earlier_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let content = json!([{ "type": "image", "data": "QUJD", "mimeType": "image/png" }]);
    for (nth, flags) in [(1, &["--json"][..]), (2, &[])] {
        let server = McpServer::new(json!({
            "tools": [tool("draw")], "calls": { "draw": [{ "reply": { "content": content, "isError": false } }] },
        }));
        let call = jackfield(["tools", "call", "s__draw", "--save-files"]);
        let call = call.more(&[&out.display().to_string()]).more(flags);
        let ran = call.servers([("s", server.entry())]).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let path = out.join(format!("s__draw-{nth}.png"));
        assert_eq!(std::fs::read(&path).expect("a file"), b"ABC");
        if flags.is_empty() {
            ran.says(&format!("saved {}", path.display()));
        } else {
            let told: Value = serde_json::from_str(&ran.out).expect("JSON");
            let saved = json!([{ "path": path, "media_type": "image/png", "title": null }]);
            assert_eq!(told["saved"], saved);
        }
    }
}

#[tokio::test]
async fn what_cannot_be_sent_stops_before_anything_is() {
    let claude = ScriptedClaude::start([]).await;
    for (arguments, cause, help) in [
        (
            ["--file", "gone.txt"],
            "`gone.txt` cannot be read",
            "name a file that is there",
        ),
        (["--file", "."], "`.` is a folder", "name the files in it"),
        (
            ["--file", "bytes"],
            "neither text nor PDF nor image: byte 1",
            "this is no text",
        ),
        (
            ["--image", "a.md"],
            "`a.md` is no image",
            "PNG, JPEG, GIF or WebP",
        ),
        (
            ["--file", "large"],
            "`large` is larger than 10 MB",
            "make it smaller",
        ),
        (
            ["--schema", "a.md"],
            "`a.md` is no JSON Schema",
            "a schema is an object",
        ),
        (
            ["--schema", "list"],
            "`list` is no JSON Schema",
            "a schema is an object",
        ),
    ] {
        let [flag, file] = arguments;
        let ask = jackfield(["ask", flag, file, "What?"])
            .in_project("a.md", "# Notes")
            .in_project("bytes", b"a\xff\0")
            .in_project("large", vec![b'a'; 10_000_001])
            .in_project("list", "[]");
        let ran = ask.at(&claude.base_url()).run().await;
        ran.fails(2, cause, help);
    }
    assert_eq!(claude.requests().len(), 0);
    kept(&claude);
}

#[tokio::test]
async fn a_schema_holds_the_answer_and_the_document_has_it_parsed() {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "2+2" })),
        ScriptTurn::text("{\"city\": \"Tokyo\"}"),
    ])
    .await;
    let ask = jackfield([
        "ask",
        "--schema",
        "a city.schema.json",
        "--output",
        "json",
        "Where?",
    ]);
    let ran = ask
        .in_project("a city.schema.json", schema.to_string())
        .at(&claude.base_url())
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let format = claude.requests()[0]["output_config"]["format"].clone();
    assert_eq!(format["schema"], schema, "{}", claude.requests()[0]);
    let whole: Value = serde_json::from_str(&ran.out).expect("one document");
    assert_eq!(whole["parsed"], json!({ "city": "Tokyo" }));
    assert_eq!(whole.get("misfit"), Some(&Value::Null));
    assert_eq!(whole["end"]["kind"], "answered");
    assert_eq!(whole["rounds"], 2);
    // Scenario 1.12: name, arguments, outcome, success, duration, server.
    let call = &whole["calls"][0];
    assert_eq!(call["name"], "calculator");
    assert_eq!(call["arguments"], json!({ "expression": "2+2" }));
    assert_eq!(call["result"], "4");
    assert_eq!(
        (&call["status"], &call["is_error"]),
        (&json!("done"), &json!(false))
    );
    assert!(call["duration_ms"].is_u64());
    assert_eq!(call["toolbox"], "builtin");
    // People see the turn meanwhile, and no answer in it.
    ran.says("calculator · done");
    assert!(!ran.err.contains("Tokyo"), "{}", ran.err);
    kept(&claude);
}

#[tokio::test]
async fn an_answer_of_another_form_is_printed_and_told_with_where() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let cases = [
        ("{\"city\": 3}", "`/city`: 3 is not of type \"string\"."),
        ("Tokyo!", "it is no JSON: expected value at line 1 column 1"),
    ];
    for (answer, what) in cases {
        for form in ["text", "json"] {
            let claude = ScriptedClaude::start([ScriptTurn::text(answer)]).await;
            let ask = ["ask", "--schema", "form.json", "--output", form, "Where?"];
            let ask = jackfield(ask).in_project("form.json", schema.to_string());
            let ran = ask.at(&claude.base_url()).run().await;
            let cause = "the answer is not of the form that was asked for";
            ran.fails(9, cause, "ask again");
            ran.says(&format!("  caused by: {what}\n"));
            if form == "text" {
                assert_eq!(ran.out.trim_end(), answer);
            } else {
                let whole: Value = serde_json::from_str(&ran.out).expect("one document");
                assert_eq!(
                    (&whole["parsed"], &whole["misfit"]),
                    (&Value::Null, &json!(what))
                );
                assert_eq!(
                    (&whole["answer"], &whole["end"]["kind"]),
                    (&json!(answer), &json!("answered"))
                );
            }
            kept(&claude);
        }
    }
    // What is configured is looked at as well.
    let claude = ScriptedClaude::start([ScriptTurn::text("[]")]).await;
    let config = "settings.response_format = \"json_object\"\n";
    let ran = jackfield(["ask", "x"])
        .at_with(&claude.base_url(), config)
        .run()
        .await;
    ran.fails(9, "not of the form", "ask again");
    ran.says("caused by: it is JSON, and no JSON object");
    kept(&claude);
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_is_told_before_anybody_is_asked() {
    let claude = ScriptedClaude::start([]).await;
    for (schema, why) in [
        (json!({ "type": "strin" }), "strin"),
        (
            json!({ "$ref": "https://example.com/other.json" }),
            "example.com",
        ),
        (
            json!({ "description": "x".repeat(70_000) }),
            "at most 65536",
        ),
    ] {
        let ask = jackfield(["ask", "--schema", "form.json", "Where?"]);
        let ask = ask.in_project("form.json", schema.to_string());
        let ran = ask.at(&claude.base_url()).run().await;
        ran.fails(
            2,
            "error: the schema of `--schema` cannot be used",
            "mend it",
        );
        ran.says(why);
    }
    assert_eq!(claude.requests().len(), 0);
    kept(&claude);
}

#[tokio::test]
async fn a_turn_that_fails_is_a_document_and_an_error() {
    let claude = ScriptedClaude::start([]).await;
    let ask = jackfield(["ask", "--output", "json", "--strict=cosmetic", "Where?"]);
    let config = "[settings]\nseed = 3\n";
    let ran = ask.at_with(&claude.base_url(), config).run().await;
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    let whole: Value = serde_json::from_str(&ran.out).expect("one document");
    assert_eq!(whole["end"]["kind"], "failed");
    assert_eq!(
        (&whole["answer"], &whole["parsed"]),
        (&json!(""), &Value::Null)
    );
    ran.says_line("error: ", "settings.seed");
    kept(&claude);
}

#[tokio::test]
async fn json_is_one_or_the_other() {
    let ran = jackfield(["ask", "--json", "--output", "json", "x"])
        .run()
        .await;
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}
