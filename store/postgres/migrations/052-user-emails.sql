create index users_email on imported.users (lower(email));
