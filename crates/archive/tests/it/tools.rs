//! The public tools agree.
