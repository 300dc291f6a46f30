-- The begin of the quarter of an hour, as the texts of times are compared. Another text than such a time is its own.
create function agent_admin_quarter(at text) returns text
  language sql immutable parallel safe
  return case
    when at ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$'
    then left(at, 14) || lpad((substr(at, 15, 2)::integer / 15 * 15)::text, 2, '0') || ':00.000Z'
    else at
  end;
