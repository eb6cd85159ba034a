//! A client of the debug adapter, as far as tests need one.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};

/// Requests, answers and events over a pair of streams.
pub(crate) struct Conversation<R, W> {
    input: BufReader<R>,
    output: W,
    seq: u64,
    pub(crate) events: Vec<Value>,
}

impl<R: Read, W: Write> Conversation<R, W> {
    pub(crate) fn new(input: R, output: W) -> Self {
        Conversation { input: BufReader::new(input), output, seq: 0, events: Vec::new() }
    }

    pub(crate) fn send(&mut self, command: &str, arguments: Value) {
        self.seq += 1;
        let message = json!({"seq": self.seq, "type": "request", "command": command, "arguments": arguments});
        let body = message.to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.output.flush().unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.input.read_line(&mut line).unwrap(), 0, "the adapter has gone");
            match line.trim().strip_prefix("Content-Length: ") {
                Some(bytes) => length = bytes.parse().unwrap(),
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.input.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// The answer to a request; events on the way are kept.
    pub(crate) fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.send(command, arguments);
        loop {
            let message = self.receive();
            if message["type"] == "event" {
                self.events.push(message);
            } else {
                assert_eq!(
                    (&message["command"], &message["request_seq"]),
                    (&json!(command), &json!(self.seq))
                );
                return message;
            }
        }
    }

    /// The next event of a kind.
    pub(crate) fn event(&mut self, event: &str) -> Value {
        loop {
            if let Some(at) = self.events.iter().position(|message| message["event"] == event) {
                return self.events.remove(at)["body"].clone();
            }
            let message = self.receive();
            assert_eq!(message["type"], "event", "{message}");
            self.events.push(message);
        }
    }

    /// From the beginning to a launch that stands still.
    pub(crate) fn begin(&mut self, launch: Value) {
        assert_eq!(self.ask("initialize", json!({}))["body"]["supportsStepBack"], true);
        assert_eq!(self.ask("launch", launch)["success"], true);
        self.event("initialized");
    }
}
