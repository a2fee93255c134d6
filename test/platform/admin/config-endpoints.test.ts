import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startMx } from '../../fixtures/mx.ts'

const TOKEN = 'a long enough token'
const ONE = 'routes: [{name: one, match: {path: /one}, respond: {status: 201}}]'

/** A gateway with an admin server; requests to its `/config`. */
async function start(t: Test, env: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const cwd = t.testdir()
  writeFileSync(join(cwd, 'mx.yaml'), 'max_body: 1kb\n')
  const flags = ['--address=127.0.0.1:0', '--admin_address=127.0.0.1:0', ...args]
  const mx = startMx(['api', ...flags], { cwd, env })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  const url = await mx.url()
  const admin = String(mx.log().find(({ msg }) => msg === 'gateway ready')?.['admin'])
  const send = async (
    method: string,
    path: string,
    { token = TOKEN, body, ...headers }: Record<string, string> = {},
  ) => {
    const response = await fetch(admin + path, {
      method,
      headers: { ...headers, authorization: `Bearer ${token}` },
      ...(body !== undefined && { body }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: text.startsWith('{') ? JSON.parse(text) : text,
    }
  }
  return { mx, url, admin, send }
}

t.test('without admin_token /config is not served', async (t) => {
  const { send, url } = await start(t, {})
  t.equal((await send('GET', '/config')).status, 404)
  t.equal((await fetch(`${url}/config`)).status, 404)
})

t.test('/config requires the admin token and is not served on the public port', async (t) => {
  const { send, url, admin, mx } = await start(t, { MX_ADMIN_TOKEN: TOKEN })
  for (const token of ['', 'x', `${TOKEN}x`, TOKEN.slice(0, -1)]) {
    const { status, headers } = await send('PUT', '/config', { token, body: ONE, 'if-match': '*' })
    t.same([status, headers.get('www-authenticate')], [401, 'Bearer'])
  }
  t.equal((await fetch(`${admin}/config`)).status, 401)
  const headers = { authorization: `Bearer ${TOKEN}` }
  t.equal((await fetch(`${url}/config`, { headers })).status, 404)
  t.equal((await send('GET', '/config')).body.version.number, 1)
  t.notMatch(mx.output.stderr, TOKEN)
})

t.test('PUT /config requires If-Match and applies a version once', async (t) => {
  const { send, url, mx } = await start(t, { MX_ADMIN_TOKEN: TOKEN })
  t.match(await send('PUT', '/config', { body: ONE }), { status: 428, body: { Code: 428 } })
  const etag = (await send('GET', '/config')).headers.get('etag')!
  const diff = await send('POST', '/config/diff', { body: ONE })
  t.match(diff.body, {
    etag,
    changes: [
      { kind: 'route', name: 'one', change: 'added' },
      { kind: 'plugin', name: 'body-limit' },
      { kind: 'setting', name: 'max_body', change: 'removed', detail: '1kb' },
    ],
  })
  const applied = await send('PUT', '/config', { body: ONE, 'if-match': etag })
  t.match(applied.body.version, { number: 2, author: 'admin token' })
  t.equal(applied.headers.get('etag'), applied.body.version.etag)
  t.equal((await fetch(`${url}/one`)).status, 201)
  t.equal((await send('PUT', '/config', { body: 'log_level: warn', 'if-match': etag })).status, 412)
  t.match(
    mx.log().find(({ msg }) => msg === 'configuration applied'),
    { account: 'admin token', version: 2 },
  )
  const rollback = await send('POST', '/config/rollback?version=1', { 'if-match': '*' })
  t.match(rollback.body.version, { number: 3, etag })
  t.equal((await fetch(`${url}/one`)).status, 404)
  t.equal((await send('GET', '/config/history')).body.versions.length, 3)
})

t.test('rejects unknown paths, methods, versions and large bodies', async (t) => {
  const { send } = await start(t, { MX_ADMIN_TOKEN: TOKEN })
  t.match(await send('GET', '/config/x'), { status: 404, body: { Code: 404 } })
  const malformed = await send('POST', '/config/history')
  t.same([malformed.status, malformed.headers.get('allow')], [405, 'GET'])
  t.equal((await send('POST', '/config/rollback?version=x', { 'if-match': '*' })).status, 400)
  const body = `# ${'x'.repeat(1024 * 1024)}`
  t.equal((await send('POST', '/config/diff', { body })).status, 413)
})

t.test('with workers, every worker serves the applied configuration', async (t) => {
  const { send, url } = await start(t, { MX_ADMIN_TOKEN: TOKEN }, ['--workers=2'])
  const invalid = 'plugins: [body-limit: {limit: x}]'
  t.equal((await send('PUT', '/config', { body: invalid, 'if-match': '*' })).status, 400)
  t.equal((await send('PUT', '/config', { body: ONE, 'if-match': '*' })).status, 200)
  // Each connection may reach another worker.
  const headers = { connection: 'close' }
  for (let served = 0; served < 20; ) {
    const { status } = await fetch(`${url}/one`, { headers })
    served = status === 201 ? served + 1 : 0
  }
  t.pass('20 connections in a row')
})
