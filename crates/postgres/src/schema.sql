-- What members of a fleet share. Numbers of members, seeds and counts are unsigned 64 bits, kept
-- as bigint bit by bit. Times are those of the server.

create schema if not exists clewline;

create table clewline.version (number integer not null);

-- Forgotten by a crash and by a fail-over, and that is what it is for.
create unlogged table clewline.life (number bigint not null, one boolean primary key default true check (one));

create table clewline.job (
    id bigint generated always as identity primary key,
    name text not null unique,
    format integer not null,
    spec text not null,
    seed bigint not null,
    bits integer not null,
    expiry bigint not null,
    pages bigint,
    pages_left bigint check (pages_left >= 0),
    phase smallint not null default 0,
    ended text,
    paused boolean not null default false,
    joined bigint not null default 0,
    created timestamptz not null default clock_timestamp(),
    server text not null,
    quiet_until timestamptz not null default '-infinity'
) with (fillfactor = 50);

create table clewline.member (
    job bigint not null references clewline.job,
    id bigint not null,
    seen timestamptz not null,
    info text not null,
    primary key (job, id)
) with (fillfactor = 50);

create table clewline.shard (
    job bigint not null references clewline.job,
    id integer not null,
    worker bigint,
    former bigint,
    epoch bigint not null default 0,
    head bigint not null default 0,
    batch bigint not null default 0,
    granted bigint not null default 0 check (granted >= 0),
    wants boolean not null default false,
    idle_in smallint,
    admitted bigint not null default 0,
    settled bigint not null default 0,
    withheld bigint not null default 0,
    roots_todo bigint not null default 0,
    sitemaps_todo bigint not null default 0,
    pages bigint not null default 0,
    bytes bigint not null default 0,
    checkpoint_bytes bigint not null default 0,
    tail_bytes bigint not null default 0,
    primary key (job, id)
) with (fillfactor = 50);

-- A delta is part -1; the parts of a checkpoint count from zero.
create table clewline.log (
    job bigint not null,
    shard integer not null,
    seq bigint not null,
    part integer not null,
    body bytea not null,
    primary key (job, shard, seq, part)
);
alter table clewline.log alter column body set storage external;

-- URLs that reached their end, with their text: what a checkpoint leaves out of the log.
create table clewline.past (
    job bigint not null,
    shard integer not null,
    seq bigint not null,
    part integer not null,
    body bytea not null,
    primary key (job, shard, seq, part)
);
alter table clewline.past alter column body set storage external;

create table clewline.mail (
    job bigint not null,
    shard integer not null,
    worker bigint not null,
    batch bigint not null,
    posted timestamptz not null default clock_timestamp(),
    body bytea not null,
    primary key (job, shard, worker, batch)
);
alter table clewline.mail alter column body set storage external;

create table clewline.tenure (
    job bigint not null,
    shard integer not null,
    epoch bigint not null,
    worker bigint not null,
    first_batch bigint,
    last_batch bigint,
    pages bigint not null default 0,
    primary key (job, shard, epoch)
);

create table clewline.orders (
    job bigint not null references clewline.job,
    n bigint not null,
    text text not null,
    primary key (job, n)
);

create table clewline.joined (
    job bigint not null references clewline.job,
    n bigint not null,
    url text not null,
    primary key (job, n),
    unique (job, url)
);

create unlogged table clewline.address (
    job bigint not null,
    address inet not null,
    worker bigint not null,
    most_in_flight bigint not null,
    most_rate double precision not null,
    last_in_flight bigint not null,
    last_rate double precision not null,
    number bigint not null,
    until timestamptz not null,
    primary key (job, address, worker)
);

insert into clewline.version values (2);
