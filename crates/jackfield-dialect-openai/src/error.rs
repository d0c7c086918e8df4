//! Errors: the vendor's as failures that the loop decides about, and failures as the vendor would tell them.
