-- How far the clock of the process is ahead of that of the database, as it says itself.
alter table cluster_processes add column ahead_ms integer;
