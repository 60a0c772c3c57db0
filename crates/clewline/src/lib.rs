//! Clewline, the library.
#![warn(missing_docs)]
mod fetch;
#[doc(hidden)]
pub mod fuzzing {
    //! Fuzz bodies.
    pub mod http1;
}
mod headers;
pub use headers::Headers;
