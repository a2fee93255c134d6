import t, { type Test } from 'tap'
import { createConnections } from '../../../../adapters/store/postgres/client/connections.ts'
import { parsePostgresUrl } from '../../../../adapters/store/postgres/client/url.ts'
import type { Plan } from '../../../../adapters/store/postgres/evaluate-conditions.ts'
import { prepareSchema } from '../../../../adapters/store/postgres/schema.ts'
import { createStatements } from '../../../../adapters/store/postgres/statements.ts'
import { writeAtomically } from '../../../../adapters/store/postgres/write.ts'
import { createPostgresStore } from '../../../../adapters/store/postgres.ts'
import type { StoreAdapter, StoreChange } from '../../../../core/contracts/store.ts'
import { type PostgresServer, startPostgres } from '../../../fixtures/postgres.ts'

const table = { database: 'mx', table: 'counters' }
const NOW_MS = 1000
const STATEMENTS = createStatements('mx')

const write = (key: string, overrides: Partial<StoreChange> = {}): StoreChange => ({
  table,
  key,
  value: Buffer.from('0'),
  metadata: {},
  expiresMs: 0,
  ifVersion: undefined,
  ...overrides,
})

t.test('writing', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return

  t.test('retries after concurrent changes and finally takes the lock', async (t) => {
    const connections = connect(t, server)
    const other = open(t, server)
    await other.commit([[write('raced')]], NOW_MS)
    let attempts = 0
    let lastCommit: Promise<unknown> = Promise.resolve()
    const version = await writeAtomically(connections, STATEMENTS, async (on) => {
      const read = await on(STATEMENTS.read, ['mx', 'counters', 'raced'])
      const version = Number(read[0]![2])
      const concurrentCommit = Promise.resolve(other.commit([[write('raced')]], NOW_MS))
      if (++attempts <= 2) await concurrentCommit
      else lastCommit = concurrentCommit
      return { plan: getPlan(write('raced'), version), toResult: (first) => first }
    })
    t.equal(attempts, 3)
    const [[generationAfter]] = (await lastCommit) as [[number]]
    t.ok(generationAfter > version, 'the other transaction waited')
    t.equal((await other.read(table, 'raced'))!.version, generationAfter)
  })

  t.test('writes nothing for an empty plan', async (t) => {
    const connections = connect(t, server)
    const noChanges = { checks: [], puts: [], deletes: [], events: [], versions: 0 }
    const before = await lastVersion(server)
    const result = await writeAtomically(connections, STATEMENTS, async () => ({
      plan: noChanges,
      toResult: () => 'nothing',
    }))
    t.equal(result, 'nothing')
    t.same(await lastVersion(server), before)
  })

  t.test('loses no increment of concurrent gateways', async (t) => {
    const gateways = [open(t, server), open(t, server), open(t, server)]
    const conflicts = await Promise.all(gateways.map((gateway) => raise(gateway, 40)))
    const { value } = (await gateways[0]!.read(table, 'count'))!
    t.equal(Buffer.from(value).toString(), '120')
    t.comment(`${conflicts.reduce((sum, count) => sum + count)} conflicts`)
  })

  t.test('assigns versions in commit order', async (t) => {
    const gateways = [open(t, server), open(t, server)]
    const versions: number[] = []
    let hasEnded = false
    const reading = (async () => {
      const reader = open(t, server)
      while (!hasEnded) versions.push((await reader.read(table, 'shared'))?.version ?? 0)
    })()
    await Promise.all(
      gateways.map(async (gateway) => {
        for (let i = 0; i < 60; i++)
          await gateway.commit([[write('shared')], [write(`own ${i}`)]], NOW_MS)
      }),
    )
    hasEnded = true
    await reading
    t.ok(versions.length > 2)
    t.same(
      versions,
      versions.toSorted((a, b) => a - b),
    )
  })

  t.test(
    'retries transactions that the server rolled back, a limited number of times',
    async (t) => {
      const adapter = open(t, server)
      await adapter.commit([[write('undone')]], NOW_MS)
      for (const code of ['40001', '40P01']) {
        await server.query('CREATE SEQUENCE mx.attempts', 'mx')
        await failWrites(server, code, `nextval('mx.attempts') <= 2`)
        const [versions] = await adapter.commit([[write('undone')]], NOW_MS)
        t.equal((await adapter.read(table, 'undone'))!.version, (versions as number[])[0])
        await failWrites(server, code, 'true')
        await t.rejects(Promise.resolve(adapter.commit([[write('undone')]], NOW_MS)), {
          code: 503,
          cause: { code },
        })
        await server.query(
          'DROP TRIGGER fail ON mx.records; DROP SEQUENCE mx.attempts CASCADE',
          'mx',
        )
      }
      t.ok(await adapter.commit([[write('undone')]], NOW_MS))
    },
  )

  t.test('fails with 507 on a full server without a retry', async (t) => {
    const adapter = open(t, server)
    await adapter.commit([[write('small')]], NOW_MS)
    await server.query('CREATE SEQUENCE mx.attempts', 'mx')
    await failWrites(server, '53100', `nextval('mx.attempts') > 0`)
    await t.rejects(Promise.resolve(adapter.commit([[write('small')]], NOW_MS)), {
      code: 507,
      cause: { code: '53100' },
    })
    t.same(await server.query('SELECT last_value::int FROM mx.attempts', 'mx'), [{ last_value: 1 }])
    t.ok(await adapter.read(table, 'small'))
  })
})

function open(t: Test, server: PostgresServer): StoreAdapter {
  const adapter = createPostgresStore({ url: server.url() })
  t.teardown(() => adapter.close!())
  return adapter
}

function connect(t: Test, server: PostgresServer): ReturnType<typeof createConnections> {
  const connections = createConnections({
    address: parsePostgresUrl(server.url()),
    maxConnections: 2,
    connectTimeoutMs: 5000,
    statementTimeoutMs: 5000,
    onWarning: () => {},
    prepare: (client) => prepareSchema(client, 'mx', () => {}),
  })
  t.teardown(connections.close)
  return connections
}

function getPlan(change: StoreChange, version: number): Plan {
  const { key } = change
  return {
    checks: [{ place: { table, key }, version }],
    puts: [{ change, offset: 0 }],
    deletes: [],
    events: [],
    versions: 1,
  }
}

/** Increments a counter by compare and set. Returns the number of conflicts. */
async function raise(gateway: StoreAdapter, steps: number): Promise<number> {
  let conflicts = 0
  for (let step = 0; step < steps; ) {
    const record = await gateway.read(table, 'count')
    const count = record === undefined ? 0 : Number(Buffer.from(record.value).toString())
    const value = Buffer.from(String(count + 1))
    const [outcome] = await gateway.commit(
      [[write('count', { value, ifVersion: record?.version ?? 0 })]],
      NOW_MS,
    )
    if ('index' in outcome!) conflicts++
    else step++
  }
  return conflicts
}

async function lastVersion(server: PostgresServer): Promise<unknown> {
  return await server.query('SELECT last_value, is_called FROM mx.versions', 'mx')
}

/** Makes the server raise an error while `condition` holds. */
async function failWrites(server: PostgresServer, code: string, condition: string): Promise<void> {
  await server.query(
    `CREATE OR REPLACE FUNCTION mx.fail() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN
       IF ${condition} THEN RAISE EXCEPTION 'made to fail' USING ERRCODE = '${code}'; END IF;
       RETURN NEW;
     END $$;
     GRANT ALL ON ALL SEQUENCES IN SCHEMA mx TO mx;
     CREATE OR REPLACE TRIGGER fail BEFORE INSERT ON mx.records EXECUTE FUNCTION mx.fail()`,
    'mx',
  )
}
