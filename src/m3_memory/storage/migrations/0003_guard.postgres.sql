-- Servers work as a role that can't change what was said or what happened; migrations run as the owner.
-- A belief may be closed: those two columns, nothing else.
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'm3_server') THEN
    CREATE ROLE m3_server NOLOGIN;
  END IF;
END $$;
GRANT m3_server TO CURRENT_USER;
DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO m3_server', current_schema()); END $$;
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
