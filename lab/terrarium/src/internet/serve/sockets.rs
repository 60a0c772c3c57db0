//! The sockets of an internet: many addresses, two ports.
//!
//! Owns the binding. All plain sites share one port number and all sites with TLS another, on
//! every address; if a number is taken on one of them, another number is tried.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use mio::net::{TcpListener, UdpSocket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

use super::connection::Gate;
use crate::internet::config::{InternetConfig, Way};
use crate::internet::world::{Ports, World};

/// Numbers that are tried before giving up.
const TRIES: usize = 20;
/// Connections that may wait to be accepted, per listener.
const BACKLOG: i32 = 4096;

/// Everything that is bound.
pub(crate) struct Sockets {
    pub(super) gates: Vec<(TcpListener, Gate)>,
    pub(super) names: UdpSocket,
    pub(crate) names_at: SocketAddr,
    pub(crate) proxy_at: SocketAddr,
    pub(crate) ports: Ports,
}

impl Sockets {
    /// Binds what a world needs; its ports are only known afterwards.
    pub(crate) fn bind(config: &InternetConfig, world: &World) -> io::Result<Self> {
        let mut gates = Vec::new();
        let mut ports = Ports::USUAL;
        if config.way == Way::Sockets {
            let addresses = world.addresses();
            let plain = bind_all(addresses, config.port.unwrap_or(0))?;
            ports.plain = plain.0;
            gates.extend(opened(plain.1, false));
            if world.shape.secure > 0 {
                let secure = bind_all(addresses, config.tls_port.unwrap_or(0))?;
                ports.secure = secure.0;
                gates.extend(opened(secure.1, true));
            }
        }
        let proxy = listen((Ipv4Addr::LOCALHOST, config.proxy_port.unwrap_or(0)).into())?;
        let proxy_at = proxy.local_addr()?;
        gates.push((proxy, Gate::PROXY));
        let names = (Ipv4Addr::LOCALHOST, config.dns_port.unwrap_or(0));
        let names = UdpSocket::bind(names.into())?;
        let names_at = names.local_addr()?;
        Ok(Self {
            gates,
            names,
            names_at,
            proxy_at,
            ports,
        })
    }
}

fn opened(listeners: Vec<TcpListener>, secure: bool) -> impl Iterator<Item = (TcpListener, Gate)> {
    listeners
        .into_iter()
        .zip(0..)
        .map(move |(listener, address)| {
            let gate = Gate {
                address: Some(address),
                secure,
                is_proxy: false,
            };
            (listener, gate)
        })
}

/// Listeners on all addresses under one number.
fn bind_all(addresses: u32, wanted: u16) -> io::Result<(u16, Vec<TcpListener>)> {
    let mut last = None;
    for _ in 0..TRIES {
        match bind_number(addresses, wanted) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && wanted == 0 => {
                last = Some(error);
            }
            other => return other,
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

fn bind_number(addresses: u32, wanted: u16) -> io::Result<(u16, Vec<TcpListener>)> {
    let mut number = wanted;
    let mut listeners = Vec::with_capacity(addresses as usize);
    for address in 0..addresses {
        let ip = IpAddr::V4(World::address(address));
        let listener = listen(SocketAddr::new(ip, number))?;
        number = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok((number, listeners))
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(TcpListener::from_std(socket.into()))
}

/// Allows as many open files as the system grants; each connection is one.
pub(crate) fn raise_limit() {
    let limits = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limits.maximum,
        maximum: limits.maximum,
    };
    // Without it there are fewer connections, which shows where it matters.
    let _ = setrlimit(Resource::Nofile, raised);
}
