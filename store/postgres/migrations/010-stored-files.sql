-- Bytes that are too large for records, in pieces. The record of document_files with the id decides whether a file is there.
create table stored_files (
  id text collate "C" not null,
  part integer not null,
  -- The process that put it, before its record was inserted.
  process text not null,
  bytes bytea not null,
  primary key (id, part)
);
alter table stored_files alter column bytes set storage external;

create function agent_admin_remove_files() returns trigger language plpgsql as $$
begin
  delete from stored_files using gone where stored_files.id = gone.id;
  return null;
end
$$;
