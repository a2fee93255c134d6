import type { ClientBase } from 'pg'
import { RECORD_OVERHEAD_BYTES } from '../../../domain/store/usage.ts'
import { LOCK_CLASS } from './statements.ts'

/** PostgreSQL 12, the first version with `plan_cache_mode`. */
const OLDEST = 120_000

/** Returns the quoted notification channel, which is unique per schema of a database. */
export function toChannel(schema: string): string {
  return `mx_store:${schema}`
}

/**
 * Migrations from each schema version to the next. A published step never changes. A replaced
 * function gets a new name, because gateways running the previous version still call the old one.
 */
const STEPS: readonly ((schema: string) => string)[] = [
  (schema) => `
    CREATE TABLE ${schema}.records (
      database text COLLATE "C" NOT NULL,
      "table" text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      value bytea NOT NULL,
      -- Not jsonb, which has no U+0000 and another sort order.
      metadata json NOT NULL,
      -- Milliseconds since 1970; 0: never.
      expires bigint NOT NULL,
      version bigint NOT NULL,
      PRIMARY KEY (database, "table", key)
    );
    CREATE INDEX records_expires ON ${schema}.records (expires) WHERE expires > 0;
    CREATE SEQUENCE ${schema}.versions;

    -- Writes and deletes records and notifies listeners. If a checked record does not have the expected version (0: absent), it
    -- changes nothing and returns null. Returns the version of the record at place 0. Writers are serialized: versions increase in the order
    -- of commits, without deadlocks. PostgreSQL serializes commits that notify anyway.
    CREATE FUNCTION ${schema}.write_records(
      check_databases text[], check_tables text[], check_keys text[], check_versions bigint[],
      put_databases text[], put_tables text[], put_keys text[], put_values bytea[], put_metadata text[],
      put_expires bigint[], put_places bigint[],
      gone_databases text[], gone_tables text[], gone_keys text[],
      events text[], places bigint
    ) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
      first bigint := 0;
    BEGIN
      PERFORM pg_advisory_xact_lock(${LOCK_CLASS}, '${schema}.records'::regclass::oid::integer);
      IF cardinality(check_keys) > 0 AND EXISTS (
        SELECT FROM unnest(check_databases, check_tables, check_keys, check_versions)
          AS told (database, "table", key, version)
        LEFT JOIN ${schema}.records AS found USING (database, "table", key)
        WHERE told.version <> coalesce(found.version, 0)
      ) THEN
        RETURN NULL;
      END IF;
      IF places > 0 THEN
        first := nextval('${schema}.versions');
        PERFORM setval('${schema}.versions', first + places - 1);
      END IF;
      IF cardinality(put_keys) > 0 THEN
        INSERT INTO ${schema}.records (database, "table", key, value, metadata, expires, version)
        SELECT put.database, put."table", put.key, put.value, put.metadata::json, put.expires, first + put.place
        FROM unnest(put_databases, put_tables, put_keys, put_values, put_metadata, put_expires, put_places)
          AS put (database, "table", key, value, metadata, expires, place)
        ON CONFLICT (database, "table", key) DO UPDATE SET
          value = excluded.value, metadata = excluded.metadata,
          expires = excluded.expires, version = excluded.version;
      END IF;
      IF cardinality(gone_keys) > 0 THEN
        DELETE FROM ${schema}.records AS found
        USING unnest(gone_databases, gone_tables, gone_keys) AS gone (database, "table", key)
        WHERE found.database = gone.database AND found."table" = gone."table" AND found.key = gone.key;
      END IF;
      PERFORM pg_notify('${toChannel(schema)}', event) FROM unnest(events) AS told (event);
      RETURN first;
    END $$;
  `,
  (schema) => `
    -- Accounting category of a table, as in domain/store/usage.ts.
    CREATE FUNCTION ${schema}.kind_of("table" text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE WHEN $1 = 'config' THEN 'config' WHEN $1 IN ('acme', 'auth', 'runtime') THEN 'reserved' ELSE 'store' END
    $$;
    CREATE FUNCTION ${schema}.size_of(key text, value bytea, metadata json) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
      SELECT (${RECORD_OVERHEAD_BYTES} + octet_length($1) + octet_length($2) + octet_length($3::text))::bigint
    $$;
    CREATE TABLE ${schema}.usage (
      database text COLLATE "C" NOT NULL,
      kind text COLLATE "C" NOT NULL,
      bytes bigint NOT NULL,
      PRIMARY KEY (database, kind)
    );
    -- Triggers count writes of every client. Writers are serialized by write_records: none waits for another here.
    CREATE FUNCTION ${schema}.count_usage() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP <> 'DELETE' THEN
        INSERT INTO ${schema}.usage AS known (database, kind, bytes)
        SELECT database, ${schema}.kind_of("table"), sum(${schema}.size_of(key, value, metadata)) FROM added GROUP BY 1, 2
        ON CONFLICT (database, kind) DO UPDATE SET bytes = known.bytes + excluded.bytes;
      END IF;
      IF TG_OP <> 'INSERT' THEN
        INSERT INTO ${schema}.usage AS known (database, kind, bytes)
        SELECT database, ${schema}.kind_of("table"), -sum(${schema}.size_of(key, value, metadata)) FROM gone GROUP BY 1, 2
        ON CONFLICT (database, kind) DO UPDATE SET bytes = known.bytes + excluded.bytes;
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER count_added AFTER INSERT ON ${schema}.records
      REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.count_usage();
    CREATE TRIGGER count_changed AFTER UPDATE ON ${schema}.records
      REFERENCING OLD TABLE AS gone NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.count_usage();
    CREATE TRIGGER count_gone AFTER DELETE ON ${schema}.records
      REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.count_usage();
    INSERT INTO ${schema}.usage (database, kind, bytes)
    SELECT database, ${schema}.kind_of("table"), sum(${schema}.size_of(key, value, metadata))
    FROM ${schema}.records GROUP BY 1, 2;
  `,
]

/**
 * Creates or migrates the schema. If several gateways start simultaneously, only one of them does
 * so.
 *
 * @throws {Error} with the requirement if the server or database is unsuitable.
 */
export async function prepareSchema(
  client: ClientBase,
  schema: string,
  onWarning: (message: string) => void,
): Promise<void> {
  await checkServer(client, onWarning)
  if ((await readVersion(client, schema)) === STEPS.length) return
  await client.query('BEGIN')
  try {
    await client.query(`SELECT pg_advisory_xact_lock(${LOCK_CLASS}, 0)`)
    const version = await readVersion(client, schema)
    if (version === 0) await createSchema(client, schema)
    for (const toStep of STEPS.slice(version)) await client.query(toStep(schema))
    await client.query(`UPDATE ${schema}.schema_version SET version = ${STEPS.length}`)
    await client.query('COMMIT')
  } catch (error) {
    // If the rollback fails, the connection is lost and the transaction is aborted.
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Returns 0 if there is no schema. */
async function readVersion(client: ClientBase, schema: string): Promise<number> {
  // Uses a current snapshot: to_regclass() would use the connection's cached state even after
  // acquiring the lock.
  const tables = await client.query(
    `SELECT FROM pg_tables WHERE schemaname = '${schema}' AND tablename = 'schema_version'`,
  )
  if (tables.rowCount === 0) return 0
  const { rows } = await client.query<{ version: number }>(
    `SELECT version FROM ${schema}.schema_version`,
  )
  const version = rows[0]?.version ?? 0
  if (version > STEPS.length) {
    throw new RangeError(
      `the schema ${schema} in PostgreSQL has version ${version} of a newer mx; this one supports ${STEPS.length}`,
    )
  }
  return version
}

async function createSchema(client: ClientBase, schema: string): Promise<void> {
  const schemas = await client.query(`SELECT FROM pg_namespace WHERE nspname = '${schema}'`)
  if (schemas.rowCount === 0) await client.query(`CREATE SCHEMA ${schema}`)
  await client.query(`CREATE TABLE ${schema}.schema_version (version integer NOT NULL);
    INSERT INTO ${schema}.schema_version VALUES (0)`)
}

async function checkServer(
  client: ClientBase,
  onWarning: (message: string) => void,
): Promise<void> {
  const { rows } = await client.query<Record<'encoding' | 'version' | 'fsync', string>>(
    `SELECT current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync,
       current_setting('server_version_num') AS version`,
  )
  const { encoding, version, fsync } = rows[0]!
  if (Number(version) < OLDEST)
    throw new RangeError(`PostgreSQL must be 12 or newer, got ${Number(version) / 10_000}`)
  if (encoding !== 'UTF8') {
    throw new RangeError(
      `the PostgreSQL database must have the encoding UTF8, got ${encoding}; use CREATE DATABASE ... ENCODING 'UTF8'`,
    )
  }
  if (fsync === 'off')
    onWarning('PostgreSQL runs with fsync = off: a power failure may lose acknowledged writes')
}
