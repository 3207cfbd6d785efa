//! The archive as others use it: written, torn, repaired, read back, and shown to the public tools.

mod hostile;
mod round_trip;
mod sample;
mod tools;
mod torn;
