-- Product users are sorted by their e-mail. On a million users the index is made in a second, in which imports wait, and has 55 MB.
create index users_by_email on imported.users (left(split_part(searched, chr(10), 2), 100), uid);
