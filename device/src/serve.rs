//! The process that uses the device for [`crate::DeviceProcess`].

use std::io::{BufReader, Read, Write};

use sim_core::{Backend, Error, ModuleId};

use crate::capture;
use crate::device::Device;
use crate::driver::Driver;
use crate::protocol::{Answer, Identity, Request, receive, send};

/// Serves requests from standard input until it ends, and answers on what standard output was at the start;
/// whatever else is written to standard output from now on goes to standard error.
///
/// The program that [`crate::DeviceProcess`] starts calls this and then exits.
pub fn serve() -> std::io::Result<()> {
    let mut answers = capture::take_stdout()?;
    serve_on(&mut BufReader::new(std::io::stdin().lock()), &mut answers)
}

fn serve_on(requests: &mut impl Read, answers: &mut impl Write) -> std::io::Result<()> {
    let Some(Request::Open(options)) = receive(requests)? else { return Ok(()) };
    let device =
        Driver::open(options.library.as_deref()).and_then(|driver| Device::with_driver(driver, &options));
    let device = match device {
        Ok(device) => device,
        Err(error) => return send(answers, &Answer::Opened(Err(error))),
    };
    let identity = Identity {
        properties: device.properties().clone(),
        version: device.driver().version(),
        library: device.driver().path().to_path_buf(),
    };
    send(answers, &Answer::Opened(Ok(identity)))?;
    while let Some(request) = receive(requests)? {
        let answer = answer(&device, request).unwrap_or_else(|error| Answer::Refused(error.into()));
        send(answers, &answer)?;
    }
    Ok(())
}

fn answer(device: &Device, request: Request) -> Result<Answer, Error> {
    Ok(match request {
        Request::Open(_) => return Err(Error::Backend("the device is open already".into())),
        Request::Load(image) => Answer::Module(device.load_image(image)?.0),
        Request::Unload(module) => {
            device.unload(ModuleId(module))?;
            Answer::Done
        }
        Request::Variable(module, name) => {
            let (pointer, bytes) = device.variable(ModuleId(module), &name)?;
            Answer::Range(pointer, bytes)
        }
        Request::Alloc(bytes) => Answer::Pointer(device.alloc(bytes, "")?),
        Request::Free(pointer) => {
            device.free(pointer)?;
            Answer::Done
        }
        Request::Write(to, bytes) => {
            device.write(to, &bytes)?;
            Answer::Done
        }
        Request::Read(from, count) => {
            // Checked first: a size that no allocation has asks for no memory here.
            device.check(from, count)?;
            let mut bytes = vec![0; count as usize];
            device.read(from, &mut bytes)?;
            Answer::Bytes(bytes)
        }
        Request::Fill(to, bytes, pattern) => {
            device.fill(to, bytes, &pattern)?;
            Answer::Done
        }
        Request::Launch(module, words, limit) => {
            Answer::Ended(device.run(ModuleId(module), &words.into(), limit)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::OpenError;
    use crate::options::Options;

    #[test]
    fn a_driver_that_is_not_there_is_the_answer() {
        let library = Some("/no/such/libcuda.so".into());
        let (mut requests, mut answers) = (Vec::new(), Vec::new());
        send(&mut requests, &Request::Open(Options { library, ..Options::default() })).unwrap();
        serve_on(&mut &requests[..], &mut answers).unwrap();
        let answer = receive(&mut &answers[..]).unwrap();
        assert!(matches!(answer, Some(Answer::Opened(Err(OpenError::LibraryNotFound(_))))));
    }

    #[test]
    fn nonsense_ends_it() {
        assert!(serve_on(&mut &b"not a message, rather a text"[..], &mut Vec::new()).is_err());
        let mut requests = Vec::new();
        send(&mut requests, &Request::Free(1)).unwrap();
        let mut answers = Vec::new();
        serve_on(&mut &requests[..], &mut answers).unwrap();
        assert_eq!(answers, b"");
    }
}
