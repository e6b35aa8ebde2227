-- What a person decides: which memories a question is about, and when it lapses; what is known of an agent.
ALTER TABLE review_items ADD COLUMN lapses_at TOKEN NOT NULL DEFAULT '9999-12-31T23:59:59.999999Z';
ALTER TABLE review_items ADD COLUMN opened_by WHOLE NOT NULL DEFAULT 0;
CREATE INDEX review_items_open ON review_items (audience, opened_at) WHERE state = 'open';

CREATE TABLE review_memories (
  review_id TOKEN NOT NULL,
  place WHOLE NOT NULL,
  memory_id TOKEN NOT NULL,
  PRIMARY KEY (review_id, place)
);
CREATE INDEX review_memories_memory ON review_memories (memory_id);

ALTER TABLE agents ADD COLUMN role TOKEN NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN capabilities TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agents ADD COLUMN metadata TEXT NOT NULL DEFAULT '{}';
ALTER TABLE agents ADD COLUMN state TOKEN NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN last_seen_at TOKEN NOT NULL DEFAULT '';

-- The memory whose value was rejected; empty for a value that was erased.
ALTER TABLE memory_tombstones ADD COLUMN memory_id TOKEN NOT NULL DEFAULT '';

CREATE TABLE retention_policies (
  owner WHOLE NOT NULL,
  agent_id TOKEN NOT NULL,
  max_memories WHOLE NOT NULL,
  ttl_days WHOLE NOT NULL,
  set_at TOKEN NOT NULL,
  event WHOLE NOT NULL,
  PRIMARY KEY (owner, agent_id)
);

CREATE TABLE erasures (
  erasure_id TOKEN NOT NULL PRIMARY KEY,
  owner WHOLE NOT NULL,
  subject_kind TOKEN NOT NULL,
  counts TEXT NOT NULL,
  record TEXT NOT NULL,
  scrubbed WHOLE NOT NULL,
  erased_at TOKEN NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON review_memories, retention_policies, erasures TO m3_server;
