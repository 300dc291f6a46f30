-- One partition for each month, made by whoever appends first. Times are ISO 8601 in UTC, so their texts sort by time.
create table audit_entries (
  at text collate "C" not null,
  id text collate "C" not null,
  principal_id text collate "C" not null,
  tool text collate "C" not null,
  outcome text collate "C" not null,
  door text collate "C" not null,
  request_id text collate "C" not null,
  session_id text collate "C",
  -- The records that the call made or was about.
  record_ids text[] not null,
  entry json not null,
  -- What calls are added up by: how long each took, and the nearest caller of each type.
  duration_ms double precision not null,
  agent_id text collate "C",
  api_key_id text collate "C",
  capsule_id text collate "C",
  app_id text collate "C",
  session_user_id text collate "C",
  flow_id text collate "C",
  primary key (at, id)
) partition by range (at);

create index audit_entries_principal on audit_entries (principal_id, at, id);
create index audit_entries_tool on audit_entries (tool, at, id);
create index audit_entries_request on audit_entries using hash (request_id);
create index audit_entries_session on audit_entries (session_id, at, id) where session_id is not null;
create index audit_entries_records on audit_entries using gin (record_ids);
-- An entry by its own id, as its address in the dashboard names it.
create index audit_entries_id on audit_entries using hash (id);
-- Adding up reads nothing but this index.
create index audit_entries_calls on audit_entries (at)
  include (tool, outcome, duration_ms, agent_id, api_key_id, capsule_id, app_id, session_user_id, flow_id);

-- Records whose content was removed: entries of calls about them that end later are kept without their arguments.
create table erased_records (
  id text collate "C" primary key,
  erased_at timestamptz not null default now(),
  -- Entries of the transactions that removed it, which keep their content.
  own_entries text[] not null default '{}',
  -- Entries that were appended while the record was being removed are looked for once more.
  swept boolean not null default false
);
create index erased_records_unswept on erased_records (id) where not swept;

-- The entry with only the ids left of its arguments, as withoutContent of resources/audit-entry.ts has it.
create function agent_admin_without_content(entry json) returns json
  language sql immutable parallel safe
  return jsonb_set(
    entry::jsonb,
    '{arguments}',
    coalesce(
      (
        select jsonb_object_agg(key, value)
        from jsonb_each(entry::jsonb -> 'arguments')
        where jsonb_typeof(value) = 'string' and value #>> '{}' ~ '^[a-z]{3}_[0-9a-z]{26}$'
      ),
      '{}'::jsonb
    )
  )::json;
