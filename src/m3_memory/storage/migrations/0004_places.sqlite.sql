-- Who may act as the operator, and in which folders a project was met.
CREATE TABLE operators (
  owner WHOLE NOT NULL PRIMARY KEY,
  salt BYTES NOT NULL,
  verifier BYTES NOT NULL,
  set_at TOKEN NOT NULL,
  event WHOLE NOT NULL
);

CREATE TABLE project_folders (
  owner WHOLE NOT NULL,
  folder TOKEN NOT NULL,
  name TOKEN NOT NULL,
  first_seen_at TOKEN NOT NULL,
  PRIMARY KEY (owner, folder, name)
);
CREATE INDEX project_folders_name ON project_folders (owner, name);
