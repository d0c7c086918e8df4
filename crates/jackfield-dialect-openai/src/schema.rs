//! The subset of JSON Schema that OpenAI can enforce.
