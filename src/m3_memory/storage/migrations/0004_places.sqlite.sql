-- Who may act as the operator, in which folders a project was met, and what finds edges from both their ends.
CREATE TABLE operators (
  owner WHOLE NOT NULL PRIMARY KEY,
  parameters TOKEN NOT NULL,
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

CREATE INDEX memory_relationships_from ON memory_relationships (from_id, type);
CREATE INDEX memory_relationships_closed_by ON memory_relationships (closed_by) WHERE closed_by IS NOT NULL;
