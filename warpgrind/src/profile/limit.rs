//! When the work for a launch ends though it is not done: a signal asked for that, or time is up.

use std::io::{Error, ErrorKind, Read, Write};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often it is looked at while another process works.
const LOOK: Duration = Duration::from_millis(2);

/// Bytes that a process may say.
const MOST: u64 = 1 << 29;

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
        let input = input.to_vec();
        let written = thread::spawn(move || to.map_or(Ok(()), |mut to| to.write_all(&input)));
        let (stdout, stderr) = (read_all(out, MOST), read_all(err, MOST));
        // Where the limit is over nobody waits for what children of its own may still say.
        let status = self.wait(&mut child)?;
        let (stdout, stderr) = (done(stdout)?, done(stderr)?);
        // One that refuses what it is given says why, and need not read all of it.
        if let Err(error) = done(written)
            && status.success()
        {
            return Err(error);
        }
        Ok(Output { status, stdout, stderr })
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

/// What is read from a pipe until it is closed, by a thread of its own; an error if that is more than `most` bytes.
fn read_all(from: Option<impl Read + Send + 'static>, most: u64) -> JoinHandle<std::io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.map_or(Ok(0), |from| from.take(most + 1).read_to_end(&mut bytes))?;
        if bytes.len() as u64 > most { Err(Error::other("it says too much")) } else { Ok(bytes) }
    })
}

/// What a thread has come to.
fn done<T>(thread: JoinHandle<std::io::Result<T>>) -> std::io::Result<T> {
    thread.join().map_err(|_| Error::other("a thread that talks to it is gone"))?
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
    fn a_command_says_no_more_than_is_read() {
        let said = |most| done(read_all(Some(&b"text"[..]), most));
        assert_eq!(said(4).unwrap(), b"text");
        assert!(said(3).is_err());
    }

    #[test]
    fn a_command_ends_with_the_limit() {
        let begun = Instant::now();
        let limit = Limit::default().within(Some(Duration::from_millis(20)));
        let ended = limit.output(Command::new("sleep").arg("600"), b"");
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Interrupted);
        // One that has a child, which keeps its pipes.
        let ended = limit.output(Command::new("sh").args(["-c", "sleep 20; true"]), b"");
        assert!(ended.is_err() && begun.elapsed() < Duration::from_secs(15));
        let asked = Arc::new(AtomicBool::new(true));
        let limit = Limit::of(&asked).within(None);
        assert!(limit.is_over() && limit.output(Command::new("sleep").arg("600"), b"").is_err());
        assert!(begun.elapsed() < Duration::from_secs(300));
    }
}
