-- Word search over our own tokens, without positions; vectors as half-precision pgvector values.
CREATE EXTENSION IF NOT EXISTS vector;

ALTER TABLE search_documents ADD COLUMN terms tsvector
  GENERATED ALWAYS AS (array_to_tsvector(string_to_array(tokens, ' '))) STORED;
CREATE INDEX search_documents_terms ON search_documents USING gin (terms);

CREATE TABLE memory_embeddings (
  item WHOLE NOT NULL,
  space WHOLE NOT NULL,
  window_number WHOLE NOT NULL,
  vector halfvec NOT NULL,
  PRIMARY KEY (item, space, window_number)
);
CREATE INDEX memory_embeddings_space ON memory_embeddings (space, item);
