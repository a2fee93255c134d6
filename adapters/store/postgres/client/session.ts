import type { ClientBase } from 'pg'

/**
 * What every connection is set to.
 *
 * Each statement has an index to go by. The planner knows neither how long arrays will be nor, before the first ANALYZE, how large
 * the tables are: it is not to guess otherwise. An acknowledged commit is on disk, whatever was set for the role or the database.
 */
const SETTINGS = `
  SET client_encoding = 'UTF8';
  SET bytea_output = hex;
  SET plan_cache_mode = force_generic_plan;
  SET enable_seqscan = off;
  SET enable_bitmapscan = off;
  SET enable_hashjoin = off;
  SET enable_mergejoin = off;
  SET enable_sort = off;
  SET jit = off;
  SET default_transaction_isolation = 'read committed';
  SET default_transaction_read_only = off;
  SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'`

export async function prepareSession(client: ClientBase): Promise<void> {
  await client.query(SETTINGS)
}
