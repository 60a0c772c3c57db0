//! Messages on the pipe.
//!
//! Owns the division of a byte stream into messages that end with a zero byte. It refuses to know what
//! messages say. Invariant: no message is longer than [`LONGEST_MESSAGE`].

/// The longest message that a browser may send: a DOM at its bound, escaped.
pub(crate) const LONGEST_MESSAGE: usize = 96 * 1024 * 1024;

/// A stream of bytes, cut into messages.
#[derive(Debug, Default)]
pub(crate) struct MessageBuffer {
    bytes: Vec<u8>,
}

/// The browser sent more than [`LONGEST_MESSAGE`] bytes without an end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MessageTooLong;

impl MessageBuffer {
    /// Takes bytes and returns the messages that end in them.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, MessageTooLong> {
        let mut messages = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            let mut message = std::mem::take(&mut self.bytes);
            message.extend_from_slice(&bytes[..end]);
            messages.push(message);
            bytes = &bytes[end + 1..];
        }
        if self.bytes.len() + bytes.len() > LONGEST_MESSAGE {
            return Err(MessageTooLong);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_do_not_depend_on_how_bytes_arrive(
            messages in proptest::collection::vec(
                proptest::collection::vec(1_u8.., 0..40), 0..20),
            size in 1_usize..50,
        ) {
            let stream: Vec<u8> = messages.iter().flat_map(|message| {
                message.iter().copied().chain([0])
            }).collect();
            let mut buffer = MessageBuffer::default();
            let mut found = Vec::new();
            for bytes in stream.chunks(size) {
                found.extend(buffer.take(bytes).unwrap());
            }
            prop_assert_eq!(found, messages);
        }
    }

    #[test]
    fn a_message_without_an_end_is_refused() {
        let mut buffer = MessageBuffer::default();
        let half = vec![1; LONGEST_MESSAGE / 2];
        assert_eq!(buffer.take(&half), Ok(Vec::new()));
        assert_eq!(buffer.take(&half), Ok(Vec::new()));
        assert_eq!(buffer.take(&[1]), Err(MessageTooLong));
    }
}
