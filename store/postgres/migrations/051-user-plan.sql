alter table imported.users add column plan text collate "C";
