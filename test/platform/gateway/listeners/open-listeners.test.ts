import { once } from 'node:events'
import { connect } from 'node:http2'
import { type AddressInfo, connect as connectSocket, createServer } from 'node:net'
import t from 'tap'
import type { ListenerOptions } from '../../../../core/listener/listener.ts'
import { loadTls } from '../../../../core/listener/tls/tls.ts'
import { openListeners } from '../../../../platform/gateway/listeners/open-listeners.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { createCertificate, createCertificateFolder } from '../../../fixtures/certificates.ts'
import { openListener } from '../../../fixtures/open-listener.ts'
import type { Teardown } from '../../../fixtures/teardown.ts'

const FREE = { host: '127.0.0.1', port: 0 }
const LOG = createLog('silent')
const SETTINGS = { address: FREE, http2Address: FREE, listener: 'uws', http2: 'tls' } as const

async function sendRequest(url: string): Promise<string> {
  const client = connect(url, { rejectUnauthorized: false })
  // Requests report the error, too.
  client.on('error', () => {})
  try {
    return Buffer.concat(await client.request({ ':path': '/' }).toArray()).toString()
  } finally {
    client.close()
  }
}

async function open(t: Teardown, options: Partial<ListenerOptions> = {}) {
  let http2Port = 0
  const opened = await openListener(
    t,
    async (options) => {
      const listeners = await openListeners(SETTINGS, options, LOG)
      http2Port = listeners.http2Port!
      return listeners
    },
    (x) => x.reply(200, `${x.httpVersion} ${x.secure}`),
    options,
  )
  return { ...opened, http2Port }
}

t.test('serves both addresses, one of them with HTTP/2', async (t) => {
  const { port, http2Port, listener, served, gateway } = await open(t)
  t.equal(listener.name, 'uws')
  t.not(port, http2Port)
  t.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), '1.1 false')
  t.equal(await (await fetch(`http://127.0.0.1:${http2Port}`)).text(), '1.1 false')
  t.equal(await sendRequest(`http://127.0.0.1:${http2Port}`), '2 false')
  t.equal(served.length, 3)
  t.ok(listener.connections >= 2, 'connections of both listeners count')
  listener.drain()
  await gateway.idle()
  for (const closed of [port, http2Port]) {
    const [error] = await once(connectSocket(closed, '127.0.0.1'), 'error')
    t.equal(error.code, 'ECONNREFUSED')
  }
})

t.test('both listeners serve the same certificates', async (t) => {
  const folder = createCertificateFolder(t)
  const tls = loadTls([folder.write('a', createCertificate(['a.test']))])
  t.teardown(tls.close)
  const { port, http2Port } = await open(t, { tls })
  t.equal(await sendRequest(`https://127.0.0.1:${http2Port}`), '2 true')
  await t.rejects(sendRequest(`https://127.0.0.1:${port}`), 'uWebSockets has no HTTP/2')
})

t.test('reports a second address in use and closes the first listener', async (t) => {
  const portOwner = createServer().listen(0, '127.0.0.1')
  t.teardown(() => portOwner.close())
  await once(portOwner, 'listening')
  const { port } = portOwner.address() as AddressInfo
  const conflicting = { ...SETTINGS, http2Address: { host: '127.0.0.1', port } }
  await t.rejects(openListeners(conflicting, { handle: () => {} }, LOG), {
    message: `address 127.0.0.1:${port} is in use by another program; choose another with --http2_address or MX_HTTP2_ADDRESS`,
  })
})
