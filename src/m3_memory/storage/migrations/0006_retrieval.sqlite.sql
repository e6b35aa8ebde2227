-- The turns of a conversation in the order in which they were said.
CREATE INDEX memory_validity_conversation ON memory_validity (conversation_id, valid_from, item)
  WHERE recorded_to = '9999-12-31T23:59:59.999999Z' AND conversation_id <> '';
