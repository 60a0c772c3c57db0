//! The threads that ask the bus, so that the engine never waits for it.
//!
//! Owns two connections: one for what must be quick, because a lease hangs on it, and one for what
//! may take long: the logs of shards and mail. Each question has one answer, which reaches the
//! engine as a message, with the moment at which it was asked. It refuses to know what an answer
//! means.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use clewline_core::fleet::{
    Bus, BusError, FleetRequest, KnownView, LogPart, MailRow, ShardId, ShardRow,
};
use clewline_core::frontier::AddressUse;
use clewline_core::key::Keyer;
use clewline_core::politeness::GroupPace;

use super::deaths::FoundDeath;
use super::lease::LeaseClock;
use super::shard_log::ShardLog;
use super::{FleetOrder, FleetWord};
use crate::engine::Message;

/// Mail that is taken in at once, in bytes.
const MAIL_BYTES: usize = 8 << 20;

/// A question that must be answered soon.
#[derive(Debug)]
pub(crate) enum QuickQuestion {
    Member(FleetRequest, String),
    View(KnownView),
    Addresses {
        asked: Vec<AddressUse>,
        rule: GroupPace,
        time: Duration,
    },
    End(String),
}

/// A question whose answer may be large.
#[derive(Debug)]
pub(crate) enum LongQuestion {
    Load(ShardId),
    Mail(Vec<ShardId>),
    Compact(ShardId, u64),
    Tenures,
    Tell(FoundDeath),
}

/// The engine's end of the threads. Both end when it is dropped.
pub(crate) struct Asker {
    quick: Sender<QuickQuestion>,
    long: Sender<LongQuestion>,
}

impl Asker {
    pub(crate) fn start(
        bus: Box<dyn Bus>,
        worker: u64,
        (clock, keyer): (LeaseClock, Keyer),
        engine: Sender<Message>,
    ) -> std::io::Result<Self> {
        let (quick, questions) = channel();
        let mut thread = BusThread {
            bus: bus.another(),
            worker,
            clock,
            keyer: keyer.clone(),
            engine: engine.clone(),
        };
        let named = |name: &str| std::thread::Builder::new().name(name.into());
        named("clewline-lease").spawn(move || thread.answer_quick(&questions))?;
        let (long, questions) = channel();
        let mut thread = BusThread {
            bus,
            worker,
            clock,
            keyer,
            engine,
        };
        named("clewline-shards").spawn(move || thread.answer_long(&questions))?;
        Ok(Self { quick, long })
    }

    pub(crate) fn ask(&self, question: QuickQuestion) {
        self.quick.send(question).ok();
    }

    pub(crate) fn ask_long(&self, question: LongQuestion) {
        self.long.send(question).ok();
    }
}

struct BusThread {
    bus: Box<dyn Bus>,
    worker: u64,
    clock: LeaseClock,
    keyer: Keyer,
    engine: Sender<Message>,
}

impl BusThread {
    fn answer_quick(&mut self, questions: &Receiver<QuickQuestion>) {
        for question in questions {
            let sent = self.clock.now();
            let word = match question {
                QuickQuestion::Member(request, info) => FleetWord::Member {
                    answer: self.bus.ask(self.worker, &info, &request),
                    sent,
                },
                QuickQuestion::View(known) => FleetWord::View(self.bus.view(known).map(Box::new)),
                QuickQuestion::Addresses { asked, rule, time } => FleetWord::Addresses {
                    dealt: self.bus.addresses(self.worker, &asked, rule, time),
                    until: sent + time,
                },
                QuickQuestion::End(why) => FleetWord::Ended(self.bus.end(&why)),
            };
            if self.engine.send(Message::Fleet(word)).is_err() {
                return;
            }
        }
    }

    fn answer_long(&mut self, questions: &Receiver<LongQuestion>) {
        for question in questions {
            let sent = self.clock.now();
            let word = match question {
                LongQuestion::Load(shard) => FleetWord::Loaded {
                    shard,
                    loaded: self.load(shard).map(Box::new),
                },
                LongQuestion::Mail(shards) => FleetWord::Mail {
                    mail: self.mail(&shards),
                    sent,
                },
                LongQuestion::Compact(shard, epoch) => {
                    FleetWord::Compacted(self.compact(shard, epoch))
                }
                LongQuestion::Tenures => FleetWord::Tenures(self.bus.tenures()),
                LongQuestion::Tell(found) => FleetWord::Ordered(self.tell(&found)),
            };
            if self.engine.send(Message::Fleet(word)).is_err() {
                return;
            }
        }
    }

    fn load(&mut self, shard: ShardId) -> Result<(ShardRow, ShardLog), BusError> {
        let (row, parts) = self.bus.log(shard)?;
        Ok((row, self.read(&parts)?))
    }

    /// Tells of a death. If nobody answers, the next member that starts here tells it.
    fn tell(&mut self, found: &FoundDeath) -> Result<(), BusError> {
        let order = FleetOrder::Death(found.death.clone());
        let order = serde_json::to_string(&order);
        let order = order.map_err(|error| BusError::Unusable(error.to_string()))?;
        self.bus.order(&order)?;
        found.mark_told();
        Ok(())
    }

    fn read(&self, parts: &[LogPart]) -> Result<ShardLog, BusError> {
        let log = ShardLog::read(parts, &self.keyer);
        log.map_err(|error| BusError::Unusable(error.to_string()))
    }

    fn mail(&mut self, shards: &[ShardId]) -> Result<Vec<MailRow>, BusError> {
        self.bus.mail(shards, MAIL_BYTES)
    }

    /// Shortens the log of a shard: a checkpoint takes the place of all that is there now.
    fn compact(&mut self, shard: ShardId, epoch: u64) -> Result<bool, BusError> {
        let (row, parts) = self.bus.log(shard)?;
        let checkpoint = self.read(&parts)?.checkpoint(row.fence.head);
        self.bus.compact(self.worker, (shard, epoch), &checkpoint)
    }
}
