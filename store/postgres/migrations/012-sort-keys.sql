-- What records are sorted by: the text without case and accents, as `sort-key.ts` makes it. By a collation of ICU, because Node.js makes
-- lower case by the same tables.
create function agent_admin_sort_key(value text) returns text
  language sql immutable parallel safe
  as $$
    select case when value is null then chr(1114111)
      else left(regexp_replace(normalize(lower(value collate "und-x-icu"), NFKD) collate "C", '[\u0300-\u036f]', '', 'g'), 100) end
  $$;
