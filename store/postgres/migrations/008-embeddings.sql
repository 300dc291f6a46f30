-- Vectors of the texts of records, derived from these.
create sequence embeddings_place;
create table embeddings (
  collection text not null,
  record_id text not null,
  model text not null,
  state text not null,
  parts bytea not null,
  -- In the order of commits: who writes holds a lock until then.
  place bigint not null,
  primary key (collection, record_id, model)
);
alter table embeddings alter column parts set storage external;
create index embeddings_by_place on embeddings (place);
create index embeddings_by_model on embeddings (model);
