// `timeout` of services and routes. The most specific one applies.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { openConfiguredGateway } from '../../fixtures/configured-gateway.ts'

/** `/silent` never responds, `/stall` stops after the head and a chunk, `/drip` sends chunks forever. */
async function openBackend(t: Test): Promise<number> {
  const timers = new Set<NodeJS.Timeout>()
  const server = createServer(({ url }, response) => {
    if (url!.endsWith('/silent')) return
    if (url!.endsWith('/fast')) return void response.end('fast')
    response.write('begin')
    if (url!.endsWith('/drip')) timers.add(setInterval(() => response.write('.'), 50))
  })
  // Never completes a handshake.
  server.on('upgrade', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const timer of timers) clearInterval(timer)
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const YAML = (port: number) => `
reply_timeout: 1m
idle_timeout: 1m
request_timeout: 1m
services:
  default: 127.0.0.1:${port}
  late: { nodes: [127.0.0.1:${port}], timeout: { response: 200ms } }
  paused: { nodes: [127.0.0.1:${port}], timeout: { idle: 200ms } }
  whole: { nodes: [127.0.0.1:${port}], timeout: { request: 500ms } }
routes:
  - { match: { path: /r/late/** }, service: default, timeout: { response: 200ms } }
  - { match: { path: /r/paused/** }, service: default, timeout: { idle: 200ms } }
  - { match: { path: /r/whole/** }, service: default, timeout: { request: 500ms } }
  - { match: { path: /r/longer/** }, service: whole, timeout: { request: 1m, response: 300ms } }
  - { match: { path: /r/none/** }, service: whole, timeout: { request: none, response: 300ms } }
`

for (const listener of ['uws', 'node'])
  t.test(`${listener}: applies the timeout of the route, otherwise of the service`, async (t) => {
    const { send, gateway } = await openConfiguredGateway(t, YAML(await openBackend(t)), {
      listener,
      handler: 'web',
    })
    for (const path of ['/late', '/r/late', '/r/longer', '/r/none']) {
      const { status, text } = await send('GET', `${path}/silent`)
      t.equal(status, 504, path)
      t.match(text, /the backend did not respond in time/, path)
    }
    for (const path of ['/whole', '/r/whole']) {
      const { status, text } = await send('GET', `${path}/silent`)
      t.equal(status, 504, path)
      t.match(text, /exceeded the time limit of 500ms/, path)
      await t.rejects(send('GET', `${path}/drip`), `${path}: a response that continues is cut`)
      t.equal((await send('GET', `${path}/fast`)).text, 'fast')
    }
    for (const path of ['/paused', '/r/paused'])
      await t.rejects(send('GET', `${path}/stall`), `${path}: a response that stalls is cut`)
    for (const path of ['/late', '/r/late']) {
      const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}${path}/`)
      const [error] = await once(socket, 'error')
      t.match(error, { message: /504/ }, `${path}: WebSocket handshake`)
    }
  })

t.test('rejects a request timeout in addition to the time-limit plugin', async (t) => {
  const service = (timeout: string): string =>
    `services: { a: { nodes: [127.0.0.1:1], ${timeout} plugins: [time-limit: { limit: 1s }] } }`
  const { reload } = await openConfiguredGateway(t, service(''))
  await t.rejects(
    reload(service('timeout: { request: 1s },')),
    /mx\.yaml:1:13: timeout\.request cannot be combined with the plugin time-limit/,
  )
})
