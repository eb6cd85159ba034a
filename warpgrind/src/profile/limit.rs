//! When the work for a launch ends though it is not done: a signal asked for that, or time is up.

use std::io::{Error, ErrorKind, Read, Write};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked at while another process works.
const LOOK: Duration = Duration::from_millis(2);

/// What ends work that may take long. Once it is over it stays so.
#[derive(Clone, Default, Debug)]
pub struct Limit {
    asked: Option<Arc<AtomicBool>>,
    until: Option<Instant>,
}

impl Limit {
    /// What is over as soon as somebody asks for it.
    pub fn of(asked: &Arc<AtomicBool>) -> Self {
        Limit { asked: Some(Arc::clone(asked)), until: None }
    }

    /// The same, and over when a time from now has passed.
    #[must_use]
    pub fn within(&self, time: Option<Duration>) -> Self {
        let until = time.and_then(|time| Instant::now().checked_add(time));
        Limit { asked: self.asked.clone(), until }
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.load(Ordering::Relaxed))
            || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Runs a command to its end, or to that of the limit; what it says when it is given an input.
    pub(super) fn output(&self, command: &mut Command, input: &[u8]) -> std::io::Result<Output> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (to, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        thread::scope(|scope| {
            let written = scope.spawn(move || to.map_or(Ok(()), |mut to| to.write_all(input)));
            let read = |from: Option<Box<dyn Read + Send>>| {
                scope.spawn(move || {
                    let mut bytes = Vec::new();
                    from.map_or(Ok(0), |mut from| from.read_to_end(&mut bytes)).map(|_| bytes)
                })
            };
            let stdout = read(out.map(|out| Box::new(out) as Box<dyn Read + Send>));
            let stderr = read(err.map(|err| Box::new(err) as Box<dyn Read + Send>));
            let status = self.wait(&mut child)?;
            let gone = |_| Error::other("a thread that talks to it is gone");
            // One that refuses what it is given says why, and need not read all of it.
            if let Err(error) = written.join().map_err(gone)?
                && status.success()
            {
                return Err(error);
            }
            Ok(Output {
                status,
                stdout: stdout.join().map_err(gone)??,
                stderr: stderr.join().map_err(gone)??,
            })
        })
    }

    /// Waits for a child, and ends it when the limit is over.
    pub(super) fn wait(&self, child: &mut Child) -> std::io::Result<ExitStatus> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            if self.is_over() {
                child.kill()?;
                child.wait()?;
                return Err(Error::new(ErrorKind::Interrupted, "it was ended before it was done"));
            }
            thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_what_it_says() {
        let output = Limit::default().output(&mut Command::new("cat"), b"text").unwrap();
        assert_eq!((output.status.success(), &output.stdout[..]), (true, &b"text"[..]));
        let large = vec![b'x'; 1 << 20];
        let output = Limit::default().output(Command::new("sh").args(["-c", "exit 3"]), &large).unwrap();
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn a_command_ends_with_the_limit() {
        let begun = Instant::now();
        let limit = Limit::default().within(Some(Duration::from_millis(20)));
        let ended = limit.output(Command::new("sleep").arg("600"), b"");
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Interrupted);
        let asked = Arc::new(AtomicBool::new(true));
        let limit = Limit::of(&asked).within(None);
        assert!(limit.is_over() && limit.output(Command::new("sleep").arg("600"), b"").is_err());
        assert!(begun.elapsed() < Duration::from_secs(300));
    }
}
