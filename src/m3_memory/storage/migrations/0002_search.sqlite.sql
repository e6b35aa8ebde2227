-- Word search over our own tokens: the tokenizer splits at spaces and nowhere else.
CREATE VIRTUAL TABLE search_index USING fts5(
  tokens, content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);
INSERT INTO search_index (search_index, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE search_vocabulary USING fts5vocab(search_index, 'row');
CREATE TRIGGER search_documents_indexed AFTER INSERT ON search_documents
BEGIN INSERT INTO search_index (rowid, tokens) VALUES (new.item, new.tokens); END;
CREATE TRIGGER search_documents_removed AFTER DELETE ON search_documents
BEGIN DELETE FROM search_index WHERE rowid = old.item; END;

CREATE TABLE memory_embeddings (
  item WHOLE NOT NULL,
  space WHOLE NOT NULL,
  window_number WHOLE NOT NULL,
  vector BYTES NOT NULL,
  PRIMARY KEY (item, space, window_number)
);
CREATE INDEX memory_embeddings_space ON memory_embeddings (space, item);
