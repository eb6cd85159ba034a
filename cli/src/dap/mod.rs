//! `warpgrind dap`: the debugger for editors, over the debug adapter protocol.
//!
//! [`wire`] is how messages are written, [`client`] the connection, [`adapter`] what requests do, [`points`] those that set breakpoints, [`launch`] what is debugged,
//! and [`values`] how values are shown.

mod adapter;
mod client;
mod launch;
mod points;
mod values;
mod wire;

use std::io::{BufReader, Write};
use std::net::TcpListener;

use crate::args::DapArgs;
use crate::exit::{Exit, Failure};
use crate::report::Console;
use client::Client;

/// Speaks with one client until it has gone.
pub(crate) fn dap(args: &DapArgs, console: &Console) -> Result<Exit, Failure> {
    let problem = |error: std::io::Error| Failure::usage(format!("cannot listen: {error}"));
    let client = match args.listen {
        None => Client::new(BufReader::new(std::io::stdin()), Box::new(std::io::stdout())),
        Some(address) => {
            let listener = TcpListener::bind(address).map_err(problem)?;
            console.err(format!("listening on {}\n", listener.local_addr().map_err(problem)?));
            let (stream, _) = listener.accept().map_err(problem)?;
            let output: Box<dyn Write> = Box::new(stream.try_clone().map_err(problem)?);
            Client::new(BufReader::new(stream), output)
        }
    };
    launch::serve(client)?;
    Ok(Exit::Clean)
}
