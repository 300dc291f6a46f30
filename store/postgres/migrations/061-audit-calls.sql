-- What calls are added up by: how long each took, and the nearest caller of each type. Entries from before this migration have none of it.
alter table audit_entries
  add column duration_ms double precision,
  add column agent_id text collate "C",
  add column api_key_id text collate "C",
  add column capsule_id text collate "C",
  add column app_id text collate "C",
  add column session_user_id text collate "C",
  add column flow_id text collate "C";

-- Adding up reads nothing but this index.
create index audit_entries_calls on audit_entries (at)
  include (tool, outcome, duration_ms, agent_id, api_key_id, capsule_id, app_id, session_user_id, flow_id)
  where duration_ms is not null;
create index audit_entries_before_calls on audit_entries (at) where duration_ms is null;

-- The nearest principal of the type, as callersOf of resources/audit-entry.ts has it.
create function agent_admin_caller(entry json, wanted text) returns text
  language sql immutable parallel safe
  return case
    when entry #>> '{principal,type}' = wanted then entry #>> '{principal,id}'
    when json_typeof(entry -> 'onBehalfOf') = 'array' then (
      select other.item ->> 'id' from json_array_elements(entry -> 'onBehalfOf') with ordinality as other (item, place)
      where other.item ->> 'type' = wanted order by place limit 1
    )
  end;

-- Fills the columns of entries that processes of the version before append. The nearest caller is assigned last.
create function agent_admin_note_call() returns trigger
  language plpgsql as $note$
  declare
    callers json[] := array[new.entry -> 'principal'];
    caller json;
  begin
    new.duration_ms := coalesce((new.entry ->> 'durationMs')::float8, 0);
    if json_typeof(new.entry -> 'onBehalfOf') = 'array' then
      callers := array(
        select other.item from json_array_elements(new.entry -> 'onBehalfOf') with ordinality as other (item, place)
        order by place desc
      ) || callers;
    end if;
    foreach caller in array callers loop
      case caller ->> 'type'
        when 'agent' then new.agent_id := caller ->> 'id';
        when 'api-key' then new.api_key_id := caller ->> 'id';
        when 'capsule' then new.capsule_id := caller ->> 'id';
        when 'app' then new.app_id := caller ->> 'id';
        when 'session' then new.session_user_id := caller ->> 'id';
        when 'flow' then new.flow_id := caller ->> 'id';
        else null;
      end case;
    end loop;
    return new;
  end $note$;
create trigger audit_entries_note_call before insert on audit_entries
  for each row when (new.duration_ms is null) execute function agent_admin_note_call();
