-- Signed statements about the audit log, in the order of their numbers.
create table audit_heads (
  number bigint primary key,
  head json not null
);

-- The salt of the content goes with it, so that nothing of it can be guessed from its hash.
create or replace function agent_admin_without_content(entry json) returns json
  language sql immutable parallel safe
  return (jsonb_set(
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
  ) - 'salt')::json;
