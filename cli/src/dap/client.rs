//! The connection to a client: requests come from a thread of their own, so that one may ask for a pause while a launch runs.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use serde_json::{Value, json};

use super::wire;

/// A request.
#[derive(Debug)]
pub(super) struct Request {
    seq: Value,
    pub(super) command: String,
    pub(super) arguments: Value,
}

/// A client.
pub(super) struct Client {
    requests: Receiver<Request>,
    output: Box<dyn Write>,
    seq: u64,
    /// Set where a launch that runs is to stand still: it is asked for, or the client has gone.
    pub(super) interrupt: Arc<AtomicBool>,
    /// Nobody is there any more.
    pub(super) gone: bool,
}

impl Client {
    pub(super) fn new(mut input: impl BufRead + Send + 'static, output: Box<dyn Write>) -> Self {
        let (sender, requests) = channel();
        let interrupt = Arc::new(AtomicBool::new(false));
        let asked = interrupt.clone();
        std::thread::spawn(move || {
            // What is no message ends the conversation as its end does.
            while let Ok(Some(message)) = wire::read(&mut input) {
                if message["type"] != "request" {
                    continue;
                }
                let command = message["command"].as_str().unwrap_or_default().to_owned();
                if matches!(&*command, "pause" | "disconnect" | "terminate") {
                    asked.store(true, Relaxed);
                }
                let request =
                    Request { seq: message["seq"].clone(), command, arguments: message["arguments"].clone() };
                if sender.send(request).is_err() {
                    return;
                }
            }
            asked.store(true, Relaxed);
        });
        Client { requests, output, seq: 0, interrupt, gone: false }
    }

    /// The next request; none where the client has gone.
    pub(super) fn next(&mut self) -> Option<Request> {
        match self.requests.recv() {
            Ok(request) if !self.gone => Some(request),
            _ => {
                self.gone = true;
                None
            }
        }
    }

    /// A request, if one waits.
    pub(super) fn waiting(&mut self) -> Option<Request> {
        match self.requests.try_recv() {
            Ok(request) => Some(request),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                self.gone = true;
                None
            }
        }
    }

    fn send(&mut self, mut message: Value) {
        self.seq += 1;
        message["seq"] = json!(self.seq);
        if wire::write(&mut self.output, &message).is_err() {
            self.gone = true;
            self.interrupt.store(true, Relaxed);
        }
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, request: &Request, body: Result<Value, String>) {
        let mut message = json!({
            "type": "response", "request_seq": request.seq, "command": request.command, "success": body.is_ok(),
        });
        match body {
            Ok(Value::Null) => message["body"] = json!({}),
            Ok(body) => message["body"] = body,
            Err(text) => {
                message["message"] = json!(text);
                message["body"] =
                    json!({"error": {"id": 1, "format": text.replace('{', "{{"), "showUser": true}});
            }
        }
        self.send(message);
    }

    /// Tells of something.
    pub(super) fn event(&mut self, event: &str, body: Value) {
        self.send(json!({"type": "event", "event": event, "body": body}));
    }
}
