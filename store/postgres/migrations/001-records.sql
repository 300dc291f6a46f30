-- Tables of records are made from store/collections.ts after the migrations. These functions fill their columns.

-- The texts of a list.
create function agent_admin_texts(list json) returns text[]
  language sql immutable parallel safe
  return case
    when json_typeof(list) = 'array' then array(
      select item #>> '{}' from json_array_elements(list) as item where json_typeof(item) = 'string'
    )
  end;

-- A time with its offset, whatever the time zone of the session.
create function agent_admin_instant(at text) returns timestamptz
  language sql immutable parallel safe
  return at::timestamptz;

-- Whether the member equals one of the values, or is a list that contains one.
create function agent_admin_has(member json, wanted jsonb[]) returns boolean
  language sql immutable parallel safe
  return case
    when member is null then false
    when json_typeof(member) = 'array' then exists (
      select 1 from jsonb_array_elements(member::jsonb) as item where item = any (wanted)
    )
    else member::jsonb = any (wanted)
  end;

-- Which states of store/collections.ts the tables were brought to.
create table record_tables (
  state text collate "C" primary key,
  reached_at timestamptz not null default now()
);

-- Each transaction locks it in a mode in which others can, and one that lost against others too often as the only one.
create table write_gate ();
