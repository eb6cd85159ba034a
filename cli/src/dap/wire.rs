//! Messages of the debug adapter protocol: a header with the length, then JSON.

use std::io::{BufRead, Read, Write};

use serde_json::Value;

/// Longest message that is taken.
const MOST: usize = 64 << 20;

/// The next message; none where the client has gone.
///
/// # Errors
/// What comes is no message.
pub(super) fn read(input: &mut impl BufRead) -> std::io::Result<Option<Value>> {
    let wrong = |text: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, text.to_owned());
    let mut length = None;
    loop {
        let mut line = Vec::new();
        // A header is short; what has no end is none.
        if input.by_ref().take(1 << 12).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            match length {
                Some(_) => break,
                None => continue,
            }
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            let bytes = value.trim().parse().ok().filter(|bytes| *bytes <= MOST);
            length = Some(bytes.ok_or_else(|| wrong("the length of a message is no number, or too large"))?);
        }
    }
    let mut body = vec![0; length.unwrap_or(0)];
    input.read_exact(&mut body)?;
    serde_json::from_slice(&body).map(Some).map_err(|error| wrong(&error.to_string()))
}

/// Writes a message.
///
/// # Errors
/// The client has gone.
pub(super) fn write(output: &mut dyn Write, message: &Value) -> std::io::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        write(&mut bytes, &json!({"seq": 1})).unwrap();
        write(&mut bytes, &json!({"é": [2]})).unwrap();
        let mut input = &bytes[..];
        assert_eq!(read(&mut input).unwrap(), Some(json!({"seq": 1})));
        assert_eq!(read(&mut input).unwrap(), Some(json!({"é": [2]})));
        assert_eq!(read(&mut input).unwrap(), None);
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for text in [
            "Content-Length: x\r\n\r\n",
            "Content-Length: 5\r\n\r\n{}",
            "Content-Length: 2\r\n\r\n{]",
            "Content-Length: 99999999999\r\n\r\n",
        ] {
            assert!(read(&mut text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(read(&mut &b"nothing"[..]).unwrap(), None);
    }
}
