-- Imported rows and what follows from them, the tables of store/sql/raw-tables.ts and store/sql/derived/. A schema of their own, as the
-- queries of metrics name the tables alone. test/store/postgres-rows.test.ts holds the columns to those of the definitions.
create schema imported;

-- One row. Whoever changes rows locks it until the end of its transaction.
create table imported.state (
  -- Grows with every change of rows or exchange rates.
  version bigint not null default 0,
  -- The next place in the order of arrival.
  next_seq bigint not null default 0,
  -- Names the formulas that the derived tables were made by.
  derivation text collate "C" not null default ''
);
insert into imported.state default values;

create table imported.users (
  uid text collate "C" not null,
  email text collate "C",
  status text collate "C",
  name text collate "C",
  country text collate "C",
  created_ms bigint,
  deleted_ms bigint,
  payment_brand text collate "C",
  payment_last4 text collate "C",
  searched text collate "C",
  plan text collate "C",
  primary key (uid)
);

create table imported.subscription_terms (
  id text collate "C" not null,
  uid text collate "C",
  place integer not null,
  from_ms bigint,
  explicit boolean,
  said_last boolean,
  imported_ms bigint,
  plan text collate "C",
  amount bigint,
  currency text collate "C",
  "interval" text collate "C",
  interval_count integer,
  quantity bigint,
  discount_percent double precision,
  discount_amount bigint,
  discount_ends_ms bigint,
  status text collate "C",
  trial_start_ms bigint,
  trial_end_ms bigint,
  started_ms bigint,
  canceled_ms bigint,
  ended_ms bigint,
  primary key (id, place)
);

create table imported.invoices (
  id text collate "C" not null,
  uid text collate "C",
  subscription_id text collate "C",
  total bigint,
  tax bigint,
  currency text collate "C",
  status text collate "C",
  issued_ms bigint,
  paid_ms bigint,
  primary key (id)
);

create table imported.events (
  id text collate "C" not null,
  uid text collate "C",
  person bigint,
  name text collate "C",
  at_ms bigint,
  properties text collate "C",
  seq bigint,
  primary key (id)
);

create table imported.visits (
  id text collate "C" not null,
  visitor_id text collate "C",
  visitor bigint,
  uid text collate "C",
  person bigint,
  at_ms bigint,
  page text collate "C",
  referrer text collate "C",
  channel text collate "C",
  channel_given boolean,
  country text collate "C",
  device text collate "C",
  browser text collate "C",
  os text collate "C",
  seq bigint,
  primary key (id)
);

create table imported.website_states (
  id text collate "C" not null,
  uid text collate "C",
  place integer not null,
  from_ms bigint,
  explicit boolean,
  said_last boolean,
  imported_ms bigint,
  url text collate "C",
  name text collate "C",
  state text collate "C",
  created_ms bigint,
  published_ms bigint,
  primary key (id, place)
);

create table imported.exchange_rates (
  currency text collate "C",
  from_ms bigint,
  to_ms bigint,
  factor double precision
);

create table imported.rates_in_use (
  digest text collate "C"
);

create table imported.subscription_steps (
  id text collate "C",
  uid text collate "C",
  time_ms bigint,
  next_ms bigint,
  phase text collate "C",
  phase_before text collate "C",
  plan text collate "C",
  mrr double precision,
  mrr_before double precision,
  is_start boolean
);

create table imported.customer_changes (
  uid text collate "C",
  time_ms bigint,
  previous_ms bigint,
  next_ms bigint,
  before double precision,
  after double precision
);

create table imported.website_steps (
  id text collate "C",
  time_ms bigint,
  state text collate "C",
  state_before text collate "C"
);

create table imported.sessions (
  visitor bigint,
  start_ms bigint,
  end_ms bigint,
  pages bigint,
  bounced boolean,
  channel text collate "C",
  country text collate "C",
  device text collate "C",
  browser text collate "C",
  os text collate "C",
  before_ms bigint,
  channel_before_ms bigint,
  country_before_ms bigint,
  device_before_ms bigint,
  browser_before_ms bigint,
  os_before_ms bigint
);

-- Answers read indexes alone where few rows have changed since the last vacuum.
alter table imported.sessions set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
alter table imported.events set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);
alter table imported.visits set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

-- Users, newest first, and all of a user.
create index users_email on imported.users (lower(email));
create index users_newest on imported.users (created_ms desc, uid desc);
create index subscription_terms_uid on imported.subscription_terms (uid);
create index website_states_uid on imported.website_states (uid);
create index invoices_uid on imported.invoices (uid);
create index events_person on imported.events (person, at_ms);
create index visits_person on imported.visits (person, at_ms) where person is not null;
-- The visits of a session.
create index visits_visitor on imported.visits (visitor, at_ms);
-- Rows in the order of arrival, for copying them part by part.
create index events_seq on imported.events (seq);
create index visits_seq on imported.visits (seq);
-- What an import renews.
create index subscription_steps_id on imported.subscription_steps (id, time_ms);
create index customer_changes_uid on imported.customer_changes (uid);
create index website_steps_id on imported.website_steps (id, time_ms);
create index sessions_visitor on imported.sessions (visitor, start_ms);
-- What happened on a day. Traffic and active users by day are answered from these alone.
create index sessions_day on imported.sessions ((start_ms / 86400000)) include (start_ms, end_ms, pages, bounced, before_ms, visitor);
create index events_day on imported.events ((at_ms / 86400000)) include (at_ms, person, name);
-- Sessions that go on in a range.
create index sessions_end on imported.sessions (end_ms, start_ms);
