import type { StoreRange } from '../../../core/contracts/store.ts'

/** A named statement, prepared once per connection. */
export interface Statement {
  readonly name: string
  readonly text: string
}

export interface Statements {
  readonly read: Statement
  readonly scan: (range: StoreRange) => Statement
  readonly listTables: Statement
  readonly listDatabaseTables: Statement
  /** Versions and expiries of keys; absent keys are omitted. */
  readonly readVersions: Statement
  readonly findExpired: Statement
  /** Bytes by database and kind of table. */
  readonly usage: Statement
  readonly used: Statement
  /** Record sizes in bytes by key; absent keys are omitted. */
  readonly sizes: Statement
  /** See `write_records` in schema.ts. */
  readonly write: Statement
  /** Acquires a lock, which is released at the end of the transaction. */
  readonly lock: Statement
}

/** Class of the advisory locks (`mx`), to avoid collisions with other applications. */
export const LOCK_CLASS = 0x6d78

/** @param schema a validated, unquoted name. */
export function createStatements(schema: string): Statements {
  const records = `${schema}.records`
  const scans = new Map<string, Statement>()

  function toScan(bounded: boolean, reverse: boolean, keysOnly: boolean): Statement {
    const order = `ORDER BY key ${reverse ? 'DESC' : 'ASC'}`
    // The extra row indicates whether there are more records.
    const range = `FROM ${records} WHERE database = $1 AND "table" = $2 AND key >= $3
      ${bounded ? 'AND key < $5' : ''} ${order} LIMIT $4 + 1`
    const maxBytes = bounded ? '$6' : '$5'
    return {
      name: `scan${bounded ? '-bounded' : ''}${reverse ? '-reverse' : ''}${keysOnly ? '-keys' : ''}`,
      text: keysOnly
        ? `SELECT key, expires, version ${range}`
        : // Lengths are cached without reading the values: values beyond the limit stay in the database.
          `SELECT key, expires, version, value, metadata, total FROM (
             SELECT *, count(*) OVER () AS total, row_number() OVER (${order}) AS place,
               sum(octet_length(value)) OVER (${order} ROWS UNBOUNDED PRECEDING) - octet_length(value) AS before
             FROM (SELECT key, expires, version, value, metadata ${range}) AS range
           ) AS measured WHERE place <= $4 AND (place = 1 OR before < ${maxBytes}) ${order}`,
    }
  }

  return {
    read: {
      name: 'read',
      text: `SELECT key, expires, version, value, metadata FROM ${records}
        WHERE database = $1 AND "table" = $2 AND key = $3`,
    },

    scan({ to, reverse = false, keysOnly = false }) {
      const statement = toScan(to !== undefined, reverse, keysOnly)
      const cached = scans.get(statement.name)
      if (cached === undefined) scans.set(statement.name, statement)
      return cached ?? statement
    },

    // Skips from table to table through the index, regardless of their number of records.
    listTables: {
      name: 'tables',
      text: `WITH RECURSIVE found AS (
          (SELECT database, "table" FROM ${records}
            WHERE (database, "table") > ($1, $2) ORDER BY database, "table" LIMIT 1)
          UNION ALL
          SELECT next.* FROM found CROSS JOIN LATERAL (
            SELECT database, "table" FROM ${records}
            WHERE (database, "table") > (found.database, found."table")
            ORDER BY database, "table" LIMIT 1) AS next)
        SELECT * FROM found LIMIT $3`,
    },
    listDatabaseTables: {
      name: 'tables-of',
      text: `WITH RECURSIVE found AS (
          (SELECT database, "table" FROM ${records}
            WHERE database = $1 AND "table" > $2 ORDER BY "table" LIMIT 1)
          UNION ALL
          SELECT next.* FROM found CROSS JOIN LATERAL (
            SELECT database, "table" FROM ${records}
            WHERE database = $1 AND "table" > found."table" ORDER BY "table" LIMIT 1) AS next)
        SELECT * FROM found LIMIT $3`,
    },

    readVersions: {
      name: 'readVersions',
      text: `SELECT wanted.place, found.expires, found.version
        FROM unnest($1::text[], $2::text[], $3::text[])
          WITH ORDINALITY AS wanted (database, "table", key, place)
        JOIN ${records} AS found USING (database, "table", key)`,
    },
    findExpired: {
      name: 'expired',
      text: `SELECT database, "table", key, expires, version FROM ${records}
        WHERE expires > 0 AND expires <= $1 ORDER BY expires LIMIT $2`,
    },
    usage: {
      name: 'usage',
      text: `SELECT database, kind, bytes FROM ${schema}.usage WHERE database = ANY($1::text[])`,
    },
    used: { name: 'used', text: `SELECT coalesce(sum(bytes), 0) FROM ${schema}.usage` },
    sizes: {
      name: 'sizes',
      text: `SELECT wanted.place, ${schema}.size_of(found.key, found.value, found.metadata)
        FROM unnest($1::text[], $2::text[], $3::text[])
          WITH ORDINALITY AS wanted (database, "table", key, place)
        JOIN ${records} AS found USING (database, "table", key)`,
    },
    write: {
      name: 'write',
      text: `SELECT ${schema}.write_records(
        $1::text[], $2::text[], $3::text[], $4::bigint[],
        $5::text[], $6::text[], $7::text[], $8::bytea[], $9::text[], $10::bigint[], $11::bigint[],
        $12::text[], $13::text[], $14::text[],
        $15::text[], $16::bigint)`,
    },
    lock: {
      name: 'lock',
      text: `SELECT pg_advisory_xact_lock(${LOCK_CLASS}, '${records}'::regclass::oid::integer)`,
    },
  }
}
