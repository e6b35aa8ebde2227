-- The tables of data_model.md, for both engines. Upper-case type words are the engine's own:
-- SERIAL_KEY, WHOLE, FLOAT, BYTES, TOKEN (text that is compared, byte by byte) and TEXT.
-- An open end of time is 9999-12-31T23:59:59.999999Z.

CREATE TABLE migrations (
  number WHOLE NOT NULL PRIMARY KEY,
  name TOKEN NOT NULL,
  checksum TOKEN NOT NULL,
  applied_at TOKEN NOT NULL
);

CREATE TABLE stores (
  origin TOKEN NOT NULL PRIMARY KEY,
  schema_version WHOLE NOT NULL,
  oldest_code_version WHOLE NOT NULL,
  secret_key BYTES NOT NULL,
  created_at TOKEN NOT NULL
);

CREATE TABLE owners (
  owner SERIAL_KEY,
  user_id TOKEN NOT NULL UNIQUE,
  last_store_time TOKEN NOT NULL,
  last_sequence WHOLE NOT NULL,
  last_hash TOKEN NOT NULL
);

CREATE TABLE audiences (
  audience SERIAL_KEY,
  owner WHOLE NOT NULL,
  name TOKEN NOT NULL UNIQUE
);

CREATE TABLE agents (
  agent SERIAL_KEY,
  owner WHOLE NOT NULL,
  agent_id TOKEN NOT NULL,
  circle TOKEN NOT NULL,
  grants TOKEN NOT NULL,
  trust FLOAT NOT NULL,
  first_seen_at TOKEN NOT NULL,
  UNIQUE (owner, agent_id)
);

CREATE TABLE projects (
  owner WHOLE NOT NULL,
  name TOKEN NOT NULL,
  main_name TOKEN NOT NULL,
  linked_at TOKEN NOT NULL,
  PRIMARY KEY (owner, name)
);

CREATE TABLE memory_items (
  item SERIAL_KEY,
  memory_id TOKEN NOT NULL,
  version WHOLE NOT NULL,
  type TOKEN NOT NULL,
  title TEXT NOT NULL,
  content TEXT NOT NULL,
  content_hash TOKEN NOT NULL,
  normal_hash TOKEN NOT NULL,
  metadata TEXT NOT NULL,
  owner WHOLE NOT NULL,
  audience WHOLE NOT NULL,
  scope TOKEN NOT NULL,
  agent_id TOKEN NOT NULL,
  circle TOKEN NOT NULL,
  project TOKEN NOT NULL,
  conversation_id TOKEN NOT NULL,
  written_in TOKEN NOT NULL DEFAULT '',
  source TOKEN NOT NULL,
  model_id TOKEN NOT NULL,
  variant TOKEN NOT NULL,
  embed WHOLE NOT NULL,
  embed_text TEXT NOT NULL,
  origin TOKEN NOT NULL,
  recorded_at TOKEN NOT NULL,
  UNIQUE (memory_id, version)
);
CREATE INDEX memory_items_normal_hash ON memory_items (normal_hash, audience);
CREATE INDEX memory_items_content_hash ON memory_items (content_hash, audience);

CREATE TABLE memory_validity (
  belief SERIAL_KEY,
  memory_id TOKEN NOT NULL,
  item WHOLE NOT NULL,
  version WHOLE NOT NULL,
  valid_from TOKEN NOT NULL,
  valid_to TOKEN NOT NULL,
  recorded_from TOKEN NOT NULL,
  recorded_to TOKEN NOT NULL,
  trust_state TOKEN NOT NULL CHECK (trust_state IN ('candidate', 'accepted', 'verified', 'rejected')),
  expires_at TOKEN NOT NULL,
  audience WHOLE NOT NULL,
  type TOKEN NOT NULL,
  agent_id TOKEN NOT NULL,
  conversation_id TOKEN NOT NULL,
  variant TOKEN NOT NULL,
  opened_by WHOLE NOT NULL,
  closed_by WHOLE,
  CHECK (valid_from < valid_to),
  CHECK (recorded_from < recorded_to)
);
CREATE UNIQUE INDEX memory_validity_open ON memory_validity (memory_id)
  WHERE recorded_to = '9999-12-31T23:59:59.999999Z';
CREATE INDEX memory_validity_current ON memory_validity (audience, recorded_from, item)
  WHERE recorded_to = '9999-12-31T23:59:59.999999Z';
CREATE INDEX memory_validity_memory ON memory_validity (memory_id, belief);
CREATE INDEX memory_validity_item ON memory_validity (item, belief);
CREATE INDEX memory_validity_past ON memory_validity (audience, recorded_to, recorded_from);
CREATE INDEX memory_validity_opened_by ON memory_validity (opened_by);
CREATE INDEX memory_validity_closed_by ON memory_validity (closed_by) WHERE closed_by IS NOT NULL;

CREATE TABLE memory_state (
  memory_id TOKEN NOT NULL PRIMARY KEY,
  importance FLOAT NOT NULL,
  pinned WHOLE NOT NULL,
  refresh_on TOKEN NOT NULL,
  refresh_reason TEXT NOT NULL
);

CREATE TABLE memory_access (
  memory_id TOKEN NOT NULL PRIMARY KEY,
  last_used_at TOKEN NOT NULL,
  use_count WHOLE NOT NULL
);

CREATE TABLE memory_relationships (
  relationship SERIAL_KEY,
  from_id TOKEN NOT NULL,
  to_id TOKEN NOT NULL,
  type TOKEN NOT NULL CHECK (type IN ('related', 'supports', 'contradicts', 'extends', 'supersedes', 'references',
    'consolidates', 'message', 'handoff', 'precedes', 'follows', 'distills_from')),
  recorded_from TOKEN NOT NULL,
  recorded_to TOKEN NOT NULL,
  opened_by WHOLE NOT NULL,
  closed_by WHOLE
);
CREATE UNIQUE INDEX memory_relationships_open ON memory_relationships (from_id, to_id, type)
  WHERE recorded_to = '9999-12-31T23:59:59.999999Z';
CREATE INDEX memory_relationships_to ON memory_relationships (to_id, type);
CREATE INDEX memory_relationships_opened_by ON memory_relationships (opened_by);

CREATE TABLE derivations (
  derived_kind TOKEN NOT NULL,
  derived_id TOKEN NOT NULL,
  source_kind TOKEN NOT NULL,
  source_id TOKEN NOT NULL,
  PRIMARY KEY (derived_kind, derived_id, source_kind, source_id)
);
CREATE INDEX derivations_source ON derivations (source_kind, source_id);

CREATE TABLE memory_corroborations (
  corroboration SERIAL_KEY,
  memory_id TOKEN NOT NULL,
  agent_id TOKEN NOT NULL,
  conversation_id TOKEN NOT NULL,
  agrees WHOLE NOT NULL,
  trust FLOAT NOT NULL,
  recorded_at TOKEN NOT NULL,
  event WHOLE NOT NULL
);
CREATE INDEX memory_corroborations_memory ON memory_corroborations (memory_id);

CREATE TABLE memory_tombstones (
  tombstone SERIAL_KEY,
  owner WHOLE NOT NULL,
  audience WHOLE,
  digest TOKEN NOT NULL,
  reason TEXT NOT NULL,
  set_by TOKEN NOT NULL,
  set_at TOKEN NOT NULL,
  lifted_at TOKEN NOT NULL
);
CREATE INDEX memory_tombstones_digest ON memory_tombstones (digest);

CREATE TABLE review_items (
  review_id TOKEN NOT NULL PRIMARY KEY,
  owner WHOLE NOT NULL,
  audience WHOLE NOT NULL,
  kind TOKEN NOT NULL CHECK (kind IN ('conflict', 'candidate', 'duplicate', 'plan')),
  evidence TEXT NOT NULL,
  plan TEXT NOT NULL,
  state TOKEN NOT NULL,
  decision TEXT NOT NULL,
  decided_by TOKEN NOT NULL,
  decided_at TOKEN NOT NULL,
  opened_at TOKEN NOT NULL
);

CREATE TABLE memory_history (
  event SERIAL_KEY,
  owner WHOLE NOT NULL,
  sequence WHOLE NOT NULL,
  store_time TOKEN NOT NULL,
  kind TOKEN NOT NULL,
  memory_id TOKEN NOT NULL,
  version WHOLE NOT NULL,
  agent WHOLE NOT NULL,
  surface TOKEN NOT NULL,
  operation_id TOKEN NOT NULL,
  other_id TOKEN NOT NULL,
  reason TEXT NOT NULL,
  digest_before TOKEN NOT NULL,
  digest_after TOKEN NOT NULL,
  origin TOKEN NOT NULL,
  previous_hash TOKEN NOT NULL,
  hash TOKEN NOT NULL,
  UNIQUE (owner, sequence)
);
CREATE INDEX memory_history_memory ON memory_history (memory_id, event);
CREATE INDEX memory_history_operation ON memory_history (operation_id);

CREATE TABLE memory_history_salts (
  event WHOLE NOT NULL PRIMARY KEY,
  salt BYTES NOT NULL
);

CREATE TABLE jobs (
  job SERIAL_KEY,
  key TOKEN NOT NULL UNIQUE,
  kind TOKEN NOT NULL,
  payload TEXT NOT NULL,
  user_id TOKEN NOT NULL,
  state TOKEN NOT NULL CHECK (state IN ('waiting', 'running', 'dead')),
  attempts WHOLE NOT NULL,
  run_at TOKEN NOT NULL,
  lease_until TOKEN NOT NULL,
  worker TOKEN NOT NULL,
  last_error TEXT NOT NULL,
  enqueued_at TOKEN NOT NULL
);
CREATE INDEX jobs_claim ON jobs (state, run_at, job);

CREATE TABLE search_changes (
  sequence SERIAL_KEY,
  item WHOLE NOT NULL,
  kind TOKEN NOT NULL CHECK (kind IN ('insert', 'belief', 'vector', 'remove'))
);

CREATE TABLE search_documents (
  item WHOLE NOT NULL PRIMARY KEY,
  tokens TEXT NOT NULL,
  token_count WHOLE NOT NULL
);

CREATE TABLE embedding_spaces (
  space SERIAL_KEY,
  name TOKEN NOT NULL,
  weights_digest TOKEN NOT NULL,
  dimension WHOLE NOT NULL,
  text_rules TOKEN NOT NULL,
  state TOKEN NOT NULL CHECK (state IN ('building', 'active', 'retired')),
  UNIQUE (name, weights_digest, dimension, text_rules)
);

CREATE TABLE search_totals (
  audience WHOLE NOT NULL PRIMARY KEY,
  documents WHOLE NOT NULL,
  tokens WHOLE NOT NULL
);
