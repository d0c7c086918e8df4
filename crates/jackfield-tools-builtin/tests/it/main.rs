//! The built-in tools as their callers see them.

mod calculator;
mod calculator_laws;
mod contract;
mod datetime;
mod toolbox;
