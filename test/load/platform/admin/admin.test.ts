import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { startAdmin } from '../../../../platform/admin/admin.ts'
import { createLog } from '../../../../platform/process/log.ts'

async function open(t: Test, problems: () => readonly string[] = () => []) {
  const admin = await startAdmin({
    address: { host: '127.0.0.1', port: 0 },
    isHost: (host) => host.startsWith('127.0.0.1:'),
    readiness: { problems },
    scrape: async (accept) => ({ type: `text/plain; of=${accept}`, text: 'up 1\n' }),
    log: createLog('silent'),
  })
  t.teardown(admin.close)
  return { ...admin, url: `http://127.0.0.1:${admin.port}` }
}

t.test('/livez and /readyz report liveness and readiness', async (t) => {
  const problems = ['the registry has not responded yet', 'no worker is running']
  const { url } = await open(t, () => problems)
  const alive = await fetch(`${url}/livez`)
  t.equal(alive.status, 200)
  t.equal(await alive.text(), 'alive\n')
  const notReady = await fetch(`${url}/readyz?verbose`)
  t.equal(notReady.status, 503)
  t.equal(await notReady.text(), `${problems.join('\n')}\n`)
  problems.length = 0
  const ready = await fetch(`${url}/readyz`)
  t.equal(ready.status, 200)
  t.equal(await ready.text(), 'ready\n')
  t.match(Object.fromEntries(ready.headers), {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
})

t.test('responds to HEAD without a body, and rejects other methods and paths', async (t) => {
  const { url } = await open(t)
  const head = await fetch(`${url}/livez`, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-length'), '6')
  t.equal(await head.text(), '')
  const posted = await fetch(`${url}/readyz`, { method: 'POST', body: 'x' })
  t.equal(posted.status, 405)
  t.equal(posted.headers.get('allow'), 'GET, HEAD')
  for (const path of ['/', '/livez/', '/LIVEZ', '/__proto__', '/constructor']) {
    const missing = await fetch(`${url}${path}`)
    t.equal(missing.status, 404, path)
    t.match(await missing.text(), /available paths: \/livez, \/readyz, \/metrics/)
  }
})

t.test('rejects hosts that are not allowed (DNS rebinding)', async (t) => {
  const { port } = await open(t)
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.end('GET /livez HTTP/1.1\r\nHost: rebound.example.com\r\n\r\n')
  const [response] = await once(socket, 'data')
  t.match(String(response), /^HTTP\/1\.1 403 /)
})

t.test('closes each connection after the response, even if the client keeps sending', async (t) => {
  const { port } = await open(t)
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write('POST /livez HTTP/1.1\r\nHost: 127.0.0.1:1\r\nTransfer-Encoding: chunked\r\n\r\n0')
  let text = ''
  for await (const chunk of socket) text += chunk
  t.match(text, /^HTTP\/1\.1 405 .*\r\nconnection: close\r\n/s)
})

t.test('serves metrics in the format of the Accept header', async (t) => {
  const { url } = await open(t)
  const response = await fetch(`${url}/metrics`, { headers: { accept: 'a/b' } })
  t.equal(response.headers.get('content-type'), 'text/plain; of=a/b')
  t.equal(await response.text(), 'up 1\n')
})

t.test('returns 500 without details for an internal error and logs it', async (t) => {
  const { url } = await open(t, () => {
    throw new Error('secret')
  })
  const response = await fetch(`${url}/readyz`)
  t.equal(response.status, 500)
  t.notMatch(await response.text(), /secret/)
  t.equal((await fetch(`${url}/livez`)).status, 200)
})

t.test('closes the connection of a client that sends no request', async (t) => {
  const { port } = await open(t)
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write('GET /livez HT')
  const [response] = await once(socket, 'data')
  t.match(String(response), /^HTTP\/1\.1 408 /)
})
