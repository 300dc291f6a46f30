-- What commits changed, for the other processes. Kept for some minutes.
create table cluster_changes (
  id bigint generated always as identity primary key,
  xid xid8 not null default pg_current_xact_id(),
  at timestamptz not null default clock_timestamp(),
  process text not null,
  collections text[] not null,
  records json not null
);
create index cluster_changes_xid on cluster_changes (xid);

-- The processes that run. One whose time is old has died.
create table cluster_processes (
  id text primary key,
  host text not null,
  -- Fingerprints, once it serves.
  secrets jsonb,
  seen_at timestamptz not null default clock_timestamp(),
  -- How far the clock of the process is ahead of that of the database, as it says itself.
  ahead_ms integer
);

-- Keys that processes hold: calls and runs under way.
create table cluster_holds (
  key text primary key,
  process text not null
);
create index cluster_holds_process on cluster_holds (process);

-- Secrets that the first process made, sealed.
create table cluster_secrets (
  name text primary key,
  value text not null
);

-- Counts and values that matter for some minutes, and may be lost in a crash of the database.
create unlogged table cluster_counts (
  key text primary key,
  points bigint not null,
  ends_at timestamptz not null
);
create unlogged table cluster_values (
  key text primary key,
  value jsonb not null,
  ends_at timestamptz not null
);
