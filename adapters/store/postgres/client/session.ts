import type { ClientBase } from 'pg'

/**
 * Settings of every connection.
 *
 * They ensure that every statement can use an index: the planner knows neither the lengths of
 * arrays nor, before the first ANALYZE, the table sizes, so other plans are disabled. Synchronous
 * commit overrides settings of the role or database.
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
