//! A socket, with TLS or without.
//!
//! Owns the layer between bytes of HTTP and bytes of the network. Refuses to know requests.
//! Invariant: what TLS has not handed to the system yet is bounded by one piece.

use std::io::{self, IoSlice, Read as _, Write as _};

use mio::net::TcpStream;
use rustls::ServerConnection;
use rustls::server::Acceptor;

use super::tls::Vault;

/// Bytes that TLS is given at a time.
const PIECE: usize = 16 << 10;

enum Layer {
    Plain,
    /// The first message of a handshake is awaited.
    Accepting(Box<Acceptor>),
    Secure(Box<ServerConnection>),
}

impl Layer {
    fn new(secure: bool) -> Self {
        if secure {
            Self::Accepting(Box::default())
        } else {
            Self::Plain
        }
    }
}

pub(super) struct Wire {
    pub(super) stream: TcpStream,
    layer: Layer,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, secure: bool) -> Self {
        Self {
            stream,
            layer: Layer::new(secure),
        }
    }

    /// Begins anew, with TLS or without, behind a proxy's answer.
    pub(super) fn restart(&mut self, secure: bool) {
        self.layer = Layer::new(secure);
    }

    pub(super) fn is_plain(&self) -> bool {
        matches!(self.layer, Layer::Plain)
    }

    /// Bytes of requests; 0 is the end.
    pub(super) fn receive(&mut self, vault: &Vault, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.layer {
                Layer::Plain => return self.stream.read(buffer),
                Layer::Accepting(acceptor) => {
                    if acceptor.read_tls(&mut self.stream)? == 0 {
                        return Ok(0);
                    }
                    match acceptor.accept() {
                        Ok(Some(accepted)) => {
                            let name = accepted.client_hello().server_name().map(str::to_owned);
                            let config = vault.config(name.as_deref());
                            let connection = accepted
                                .into_connection(config)
                                .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
                            self.layer = Layer::Secure(Box::new(connection));
                            self.flush()?;
                        }
                        Ok(None) => {}
                        Err((_, mut alert)) => {
                            let _ = alert.write(&mut self.stream);
                            return Err(io::ErrorKind::InvalidData.into());
                        }
                    }
                }
                Layer::Secure(tls) => {
                    match tls.reader().read(buffer) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        other => return other,
                    }
                    let length = tls.read_tls(&mut self.stream)?;
                    let processed = tls.process_new_packets();
                    self.flush()?;
                    if processed.is_err() {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    if length == 0 {
                        return Ok(0);
                    }
                }
            }
        }
    }

    /// Sends what TLS has to say by itself.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let Layer::Secure(tls) = &mut self.layer else {
            return Ok(());
        };
        while tls.wants_write() {
            match tls.write_tls(&mut self.stream) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Hands bytes to the system, as many as it takes.
    pub(super) fn send(&mut self, parts: &[&[u8]; 3]) -> io::Result<usize> {
        if self.is_plain() {
            return match self.stream.write_vectored(&parts.map(IoSlice::new)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
                other => other,
            };
        }
        let mut sent = 0;
        for piece in parts.iter().flat_map(|part| part.chunks(PIECE)) {
            self.flush()?;
            if !self.is_drained() {
                return Ok(sent);
            }
            if let Layer::Secure(tls) = &mut self.layer {
                tls.writer().write_all(piece)?;
                sent += piece.len();
            }
        }
        self.flush().map(|()| sent)
    }

    /// Whether everything that was handed over is with the system.
    pub(super) fn is_drained(&self) -> bool {
        match &self.layer {
            Layer::Secure(tls) => !tls.wants_write(),
            _ => true,
        }
    }

    /// An end of TLS that is no accident says so.
    pub(super) fn say_goodbye(&mut self) {
        if let Layer::Secure(tls) = &mut self.layer {
            tls.send_close_notify();
            let _ = self.flush();
        }
    }
}
