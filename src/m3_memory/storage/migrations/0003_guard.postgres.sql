-- Servers work as a role that can't change what was said or what happened; migrations run as the owner.
-- A belief may be closed: those two columns, nothing else. Roles belong to the whole server: another store's
-- migration may make this one at the same moment, or an administrator may have made and granted it before.
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'm3_server') THEN
    CREATE ROLE m3_server NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
DO $$ BEGIN
  IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
    EXECUTE format('GRANT m3_server TO %I', current_user);
  END IF;
EXCEPTION WHEN insufficient_privilege THEN NULL;
END $$;
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT n.nspname FROM pg_namespace AS n WHERE n.nspname = current_schema()
    OR n.oid IN (SELECT extnamespace FROM pg_extension WHERE extname = 'vector') LOOP
    IF NOT has_schema_privilege('m3_server', name, 'USAGE') THEN
      EXECUTE format('GRANT USAGE ON SCHEMA %I TO m3_server', name);
    END IF;
  END LOOP;
END $$;
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
    EXECUTE format('GRANT SELECT, INSERT ON %I TO m3_server', name);
    IF name NOT IN ('memory_items', 'memory_history', 'memory_validity', 'migrations', 'stores') THEN
      EXECUTE format('GRANT UPDATE, DELETE ON %I TO m3_server', name);
    END IF;
  END LOOP;
END $$;
DO $$ BEGIN EXECUTE format('GRANT USAGE ON ALL SEQUENCES IN SCHEMA %I TO m3_server', current_schema()); END $$;
GRANT UPDATE (recorded_to, closed_by) ON memory_validity TO m3_server;

CREATE FUNCTION memory_validity_closed_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF old.recorded_to <> '9999-12-31T23:59:59.999999Z' OR new.closed_by IS NULL THEN
    RAISE EXCEPTION 'a belief is closed once and never changed otherwise';
  END IF;
  RETURN new;
END $$;
CREATE TRIGGER memory_validity_closed_once BEFORE UPDATE ON memory_validity
FOR EACH ROW EXECUTE FUNCTION memory_validity_closed_once();
