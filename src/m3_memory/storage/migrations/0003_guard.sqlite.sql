-- What was said and what happened never changes, whatever our own code tries. An erasure lifts the guard
-- for its one transaction by a row in guard_lifted.
CREATE TABLE guard_lifted (reason TOKEN NOT NULL PRIMARY KEY);

CREATE TRIGGER memory_items_unchanged BEFORE UPDATE ON memory_items
BEGIN SELECT RAISE(ABORT, 'memory_items is insert only'); END;
CREATE TRIGGER memory_items_kept BEFORE DELETE ON memory_items WHEN NOT EXISTS (SELECT 1 FROM guard_lifted)
BEGIN SELECT RAISE(ABORT, 'memory_items is insert only'); END;

CREATE TRIGGER memory_history_unchanged BEFORE UPDATE ON memory_history
BEGIN SELECT RAISE(ABORT, 'memory_history is insert only'); END;
CREATE TRIGGER memory_history_kept BEFORE DELETE ON memory_history
BEGIN SELECT RAISE(ABORT, 'memory_history is insert only'); END;

CREATE TRIGGER memory_validity_closed_once BEFORE UPDATE ON memory_validity
WHEN old.recorded_to <> '9999-12-31T23:59:59.999999Z' OR new.closed_by IS NULL
  OR new.belief <> old.belief OR new.memory_id <> old.memory_id OR new.item <> old.item
  OR new.version <> old.version OR new.valid_from <> old.valid_from OR new.valid_to <> old.valid_to
  OR new.recorded_from <> old.recorded_from OR new.trust_state <> old.trust_state
  OR new.expires_at <> old.expires_at OR new.audience <> old.audience OR new.type <> old.type
  OR new.agent_id <> old.agent_id OR new.conversation_id <> old.conversation_id
  OR new.variant <> old.variant OR new.opened_by <> old.opened_by
BEGIN SELECT RAISE(ABORT, 'a belief is closed once and never changed otherwise'); END;
CREATE TRIGGER memory_validity_kept BEFORE DELETE ON memory_validity WHEN NOT EXISTS (SELECT 1 FROM guard_lifted)
BEGIN SELECT RAISE(ABORT, 'memory_validity is append only'); END;
