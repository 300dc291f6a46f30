-- The words of records, for texts that are spelled nearly so. Whoever writes a record adds those it has not added before, so some are there
-- more than once: a table without such rules is one on which no two transactions wait for each other.
create table text_words (
  collection text collate "C" not null,
  word text collate "C" not null
);
create index text_words_beginning on text_words (collection, word);
create index text_words_end on text_words (collection, reverse(word) collate "C");
