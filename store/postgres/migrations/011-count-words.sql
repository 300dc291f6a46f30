-- How many records have one of the words, counted up to a number. The index of words tells it. Left to itself, the planner reads the table
-- for frequent words, because it does not know what unpacking the words of each record costs.
create function agent_admin_count_words(of regclass, words tsquery, most integer) returns integer
  language plpgsql stable parallel safe
  set enable_seqscan = off
  as $$
    declare
      found integer;
    begin
      execute format('select count(*) from (select 1 from %s where words @@ $1 limit $2) x', of) into found using words, most;
      return found;
    end
  $$;
