import t, { type Test } from 'tap'
import { createPostgresStore } from '../../../../../adapters/store/postgres.ts'
import { createStore } from '../../../../../domain/store/store.ts'
import { createRequestQuotas } from '../../../../../services/auth/request-quotas/request-quotas.ts'
import { QUOTA_START_MS, testRequestQuotas } from '../../../../contracts/request-quotas.ts'
import { startPostgres } from '../../../../fixtures/postgres.ts'

const OWNER = { namespace: 'mx', account: 'jane', apiKey: '' }
const COUNTER = { quota: 'requests', period: 'day', ...OWNER } as const

const server = await startPostgres(t)
if (server !== undefined) {
  let databases = 0
  /** Opens servers that share a new database. */
  const open = async (t: Test, count: number) => {
    const database = `quotas${++databases}`
    await server.query(`CREATE DATABASE ${database} OWNER mx`)
    const clock = { ms: QUOTA_START_MS }
    const nowMs = () => clock.ms
    const servers = Array.from({ length: count }, () => {
      const adapter = createPostgresStore({ url: server.url('', database) })
      const store = createStore(adapter, { nowMs })
      t.teardown(store.close)
      return createRequestQuotas({ store, nowMs, onEvent: () => {} })
    })
    return { clock, servers, quotas: servers[0]! }
  }

  t.test('postgres: keeps counts in the store', (t) => testRequestQuotas(t, (t) => open(t, 1)))

  t.test('servers that share a database never exceed the limit together', async (t) => {
    const { servers } = await open(t, 3)
    const leases = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        servers[i % servers.length]!.reserve({ counter: COUNTER, limit: 40, requests: 2 }),
      ),
    )
    t.equal(
      leases.reduce((sum, { granted }) => sum + granted, 0),
      40,
    )
  })
}
