-- An entry by its own id, as its address in the dashboard names it.
create index audit_entries_id on audit_entries using hash (id);
