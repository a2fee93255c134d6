import t, { type Test } from 'tap'
import {
  type ConnectionOptions,
  type Connections,
  createConnections,
} from '../../../../../adapters/store/postgres/client/connections.ts'
import { parsePostgresUrl } from '../../../../../adapters/store/postgres/client/url.ts'
import type { GatewayError } from '../../../../../core/errors.ts'
import { createCertificate, createCertificateFolder } from '../../../../fixtures/certificates.ts'
import { startPostgres } from '../../../../fixtures/postgres.ts'

const SELECT_ONE = { name: 'one', text: 'SELECT 1' }
const SLOW = { name: 'slow', text: 'SELECT pg_sleep(60)' }
const BACKEND_PID = { name: 'who', text: 'SELECT pg_backend_pid()' }

t.test('connections', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return

  t.test('limits and reuses connections', async (t) => {
    const { runStatement: sendRequest } = open(t, server.url(), { maxConnections: 3 })
    const responses = Array.from({ length: 200 }, () => sendRequest(BACKEND_PID, []))
    const pids = (await Promise.all(responses)).map((rows) => rows[0]![0])
    t.ok(new Set(pids).size <= 3)
    t.ok(pids.includes((await sendRequest(BACKEND_PID, []))[0]![0]!))
  })

  t.test('rejects calls when ten thousand are waiting', async (t) => {
    // Waiting calls must not time out before the others are served on a slow machine.
    const { runStatement: sendRequest } = open(t, server.url(), {
      maxConnections: 1,
      connectTimeoutMs: 60_000,
    })
    await sendRequest(SELECT_ONE, [])
    const responses = await Promise.allSettled(
      Array.from({ length: 10_500 }, () => sendRequest(SELECT_ONE, [])),
    )
    const rejected = responses.filter(({ status }) => status === 'rejected')
    t.ok(rejected.length > 0 && rejected.length < 600, `${rejected.length} were rejected`)
    t.match(rejected[0], { reason: { code: 503, cause: { message: /calls are already waiting/ } } })
  })

  t.test('prepares before the first statement, and again after a failure', async (t) => {
    let attempts = 0
    const { runStatement: sendRequest } = open(t, server.url(), {
      async prepare(client) {
        if (++attempts === 1) throw new RangeError('not yet')
        await client.query('CREATE TABLE prepared ()')
      },
    })
    await t.rejects(sendRequest(SELECT_ONE, []), { message: 'not yet' })
    const find = { name: 'find', text: 'SELECT count(*) FROM prepared' }
    t.same(
      await Promise.all([sendRequest(find, []), sendRequest(find, []), sendRequest(find, [])]),
      [[['0']], [['0']], [['0']]],
    )
    t.equal(attempts, 2)
  })

  t.test('reuses a connection after a SQL error', async (t) => {
    const { runStatement: sendRequest } = open(t, server.url(), {
      maxConnections: 1,
      statementTimeoutMs: 100,
    })
    const [before] = await sendRequest(BACKEND_PID, [])
    await t.rejects(sendRequest({ name: 'bad', text: 'SELECT 1 / 0' }, []), { code: '22012' })
    await t.rejects(sendRequest(SLOW, []), { code: 503, cause: { code: '57014' } })
    t.same(await sendRequest(BACKEND_PID, []), [before])
  })

  t.test('rolls back a failed transaction', async (t) => {
    const { runStatement: sendRequest, transact } = open(t, server.url(), { maxConnections: 1 })
    await sendRequest({ name: 'create', text: 'CREATE TABLE undone ()' }, [])
    const insert = { name: 'insert', text: 'INSERT INTO undone DEFAULT VALUES' }
    await t.rejects(
      transact(async (on) => {
        await on(insert, [])
        throw new RangeError('no')
      }),
      { message: 'no' },
    )
    await t.rejects(
      transact(async (on) => {
        await on(insert, [])
        await on({ name: 'bad', text: 'SELECT 1 / 0' }, [])
      }),
      { code: '22012' },
    )
    await transact((on) => on(insert, []))
    t.same(await sendRequest({ name: 'count', text: 'SELECT count(*) FROM undone' }, []), [['1']])
  })

  t.test('closes once', async (t) => {
    const { runStatement: sendRequest, connect, close } = open(t, server.url(), {})
    await sendRequest(SELECT_ONE, [])
    await close()
    await t.rejects(sendRequest(SELECT_ONE, []), { code: 503, cause: { message: /closed/ } })
    await t.rejects(connect(), { code: 503, cause: { message: /closed/ } })
  })

  t.test('connects to a Unix socket', async (t) => {
    const host = encodeURIComponent(server.folder)
    const { runStatement: sendRequest } = open(t, server.url('').replace('127.0.0.1', host), {})
    const address = { name: 'address', text: 'SELECT inet_server_addr()' }
    t.same(await sendRequest(address, []), [[null]])
  })

  t.test('fails with 503 on a denied login without exposing the password', async (t) => {
    const invalid = server.url().replace(/:[^:@]*@/, ':wr0ng-secret@')
    for (const [url, code] of [
      [invalid, '28P01'],
      [server.url('sslmode=disable', 'missing'), '3D000'],
    ] as const) {
      const { runStatement: sendRequest, connect } = open(t, url, {})
      for (const startRequest of [() => sendRequest(SELECT_ONE, []), connect]) {
        const error = await startRequest().then(
          () => undefined,
          (error: unknown) => error,
        )
        t.match(error, { code: 503, message: 'the store cannot be reached', cause: { code } })
        t.notMatch(JSON.stringify(toTexts(error)), /wr0ng-secret|se\/cr@t|se%2Fcr/)
      }
    }
  })

  t.test('backs off from an unreachable server and recovers', async (t) => {
    const warnings: string[] = []
    const { runStatement: sendRequest } = open(t, server.url(), {
      onWarning: (message) => warnings.push(message),
    })
    await sendRequest(SELECT_ONE, [])
    await server.stop()
    const causes = new Set<unknown>()
    const codes = new Set<unknown>()
    let requests = 0
    for (const endMs = performance.now() + 500; performance.now() < endMs; requests++) {
      const error = await sendRequest(SELECT_ONE, []).catch((error: unknown) => error)
      codes.add((error as GatewayError).code)
      causes.add((error as GatewayError).cause)
    }
    t.same([...codes], [503])
    t.ok(causes.size <= 8 && requests > 100, `${causes.size} of ${requests} reached the server`)
    await server.start()
    const startedMs = performance.now()
    while ((await sendRequest(SELECT_ONE, []).catch(() => undefined)) === undefined)
      await nextTick()
    t.ok(performance.now() - startedMs < 5000)
    t.equal(warnings.length, 2, 'one warning for the outage and one for its end')
    t.match(warnings, [
      /^PostgreSQL is unreachable; store calls fail with 503: connect ECONNREFUSED/,
      /^PostgreSQL is reachable again after \d+ s$/,
    ])
  })

  t.test('times out connections without a response, and calls that wait for one', async (t) => {
    const { runStatement: sendRequest, close } = open(t, server.url(), {
      maxConnections: 2,
      statementTimeoutMs: 100,
      connectTimeoutMs: 300,
    })
    await sendRequest(SELECT_ONE, [])
    server.freeze()
    t.teardown(server.resume)
    const responses = await Promise.allSettled(
      Array.from({ length: 5 }, () => sendRequest(SELECT_ONE, [])),
    )
    for (const one of responses) t.match(one, { status: 'rejected', reason: { code: 503 } })
    await close()
    server.resume()
  })
})

t.test('uses TLS as configured in the URL', async (t) => {
  const certificate = createCertificate(['localhost'])
  const server = await startPostgres(t, { certificate })
  if (server === undefined) return
  const folder = createCertificateFolder(t)
  const ca = folder.write('ca', certificate).certFile
  const other = folder.write('other', createCertificate(['other'], { hasOwnKey: true })).certFile
  const isSecure = {
    name: 'secure',
    text: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()',
  }
  const toLocalhost = (url: string) => url.replace('127.0.0.1', 'localhost')
  for (const [url, secure] of [
    [server.url('sslmode=disable'), 'f'],
    [server.url('sslmode=require'), 't'],
    [server.url(`sslmode=verify-ca&sslrootcert=${ca}`), 't'],
    [toLocalhost(server.url(`sslmode=verify-full&sslrootcert=${ca}`)), 't'],
  ] as const)
    t.same(await open(t, url, {}).runStatement(isSecure, []), [[secure]], url)
  for (const url of [
    server.url(`sslmode=verify-full&sslrootcert=${ca}`),
    toLocalhost(server.url('sslmode=verify-full')),
    toLocalhost(server.url(`sslmode=verify-full&sslrootcert=${other}`)),
    server.url(`sslmode=verify-ca&sslrootcert=${other}`),
  ])
    await t.rejects(open(t, url, {}).runStatement(isSecure, []), { code: 503 }, url)
})

t.test('rejects a server without TLS if TLS is required', async (t) => {
  const server = await startPostgres(t)
  if (server === undefined) return
  await t.rejects(open(t, server.url('sslmode=require'), {}).runStatement(SELECT_ONE, []), {
    code: 503,
    cause: { message: /does not support SSL/ },
  })
})

function open(t: Test, url: string, options: Partial<ConnectionOptions>): Connections {
  const connections = createConnections({
    address: parsePostgresUrl(url),
    maxConnections: 4,
    connectTimeoutMs: 5000,
    statementTimeoutMs: 5000,
    onWarning: () => {},
    prepare: async () => {},
    ...options,
  })
  t.teardown(() => connections.close().catch(() => {}))
  return connections
}

/** Complete message of an error. */
function toTexts(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { cause } = error
  return [error.message, error.stack, { ...error }, cause === undefined ? '' : toTexts(cause)]
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
