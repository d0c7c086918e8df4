//! What a third party needs to test its own adapter.
