-- Which process a pool of workers belongs to, so that its jobs come free when the process is gone.
create table job_pools (
  pool text primary key,
  process text not null
);
