//! The built-in tools as a toolbox.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use serde_json::Value;

use crate::answer::{ToolAnswer, ToolFault};
use crate::calculator::Calculator;
use crate::datetime::CurrentDatetime;

/// The built-in tools.
///
/// All of them are read-only, so a call that may have run may be repeated.
#[derive(Clone, Debug)]
pub struct Builtins {
    calculator: Calculator,
    datetime: CurrentDatetime,
    id: ToolboxId,
}

impl Builtins {
    /// Creates the toolbox with this clock.
    #[must_use]
    pub fn new(datetime: CurrentDatetime) -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the name is a constant that follows the rule"
        )]
        let id = ToolboxId::parse(TOOLBOX).expect("a valid name");
        Self {
            calculator: Calculator::new(),
            datetime,
            id,
        }
    }
}

impl Default for Builtins {
    fn default() -> Self {
        Self::new(CurrentDatetime::system())
    }
}

#[async_trait]
impl Toolbox for Builtins {
    fn id(&self) -> &ToolboxId {
        &self.id
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(SPECS.to_vec())
    }

    async fn call(
        &self,
        run: &ToolRun,
        call: &CallContext,
        _events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let Some(arguments) = run.arguments() else {
            return Err(ToolFailure::not_sent(
                ToolFailureKind::InvalidArguments,
                "the built-in tools take a JSON object",
            )
            .into());
        };
        let arguments = Value::Object(arguments.clone());
        call.begin()?;
        let answer = match &*run.tool.tool {
            CALCULATOR => self.calculator.answer(&arguments).await,
            CURRENT_DATETIME => self.datetime.answer(&arguments),
            unknown => {
                return Err(ToolFailure::not_sent(
                    ToolFailureKind::UnknownTool,
                    format!("there is no built-in tool `{unknown}`"),
                )
                .into());
            }
        };
        let result = result(answer);
        let result = result.cut(run.max_bytes).unwrap_or(result);
        Ok(ToolEnd::Finished(result))
    }
}

fn spec(
    name: &str,
    (title, icon): (&str, &str),
    description: &str,
    (input, output): (Value, Value),
) -> ToolSpec {
    ToolSpec {
        description: description.into(),
        icon: Some(icon.into()),
        input: InputFormat::Json(Arc::new(input)),
        name: name.into(),
        output: Some(Arc::new(output)),
        safety: Safety::ReadOnly,
        time_limit: None,
        title: Some(title.into()),
    }
}

fn result(answer: Result<ToolAnswer, ToolFault>) -> ToolResult {
    match answer {
        Ok(answer) => ToolResult {
            structured: Some(Arc::new(answer.structured)),
            ..ToolResult::text(answer.text)
        },
        Err(fault) => ToolResult::error(fault.to_string()),
    }
}

const TOOLBOX: &str = "builtin";
const CALCULATOR: &str = "calculator";
const CURRENT_DATETIME: &str = "current_datetime";
/// Made once, because unchanged tools are recognised by their shared schemas.
static SPECS: LazyLock<[ToolSpec; 2]> = LazyLock::new(|| {
    [
        spec(
            CALCULATOR,
            ("Calculator", "🧮"),
            Calculator::description(),
            (Calculator::input_schema(), Calculator::output_schema()),
        ),
        spec(
            CURRENT_DATETIME,
            ("Date and time", "🕒"),
            CurrentDatetime::description(),
            (
                CurrentDatetime::input_schema(),
                CurrentDatetime::output_schema(),
            ),
        ),
    ]
});
