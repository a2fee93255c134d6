import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import t from 'tap'
import { createPrefaceReader } from '../../../../core/listener/http2/preface.ts'
import { RawClient } from '../../../fixtures/raw-client.ts'
import type { Teardown } from '../../../fixtures/teardown.ts'

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const TIMEOUT_MS = 60

async function open(t: Teardown) {
  const served: string[] = []
  const reader = createPrefaceReader(
    (socket) => served.push('1') && socket.end(),
    (socket) => served.push('2') && socket.end(),
    TIMEOUT_MS,
  )
  const server = createServer(reader.accept).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const client = new RawClient((server.address() as AddressInfo).port)
  t.teardown(() => client.socket.destroy())
  return { client, served }
}

t.test('closes a connection whose preface arrives too slowly', async (t) => {
  const { client, served } = await open(t)
  let at = 0
  const drip = setInterval(() => {
    if (!client.closed) client.send(PREFACE[at++]!)
  }, TIMEOUT_MS / 4)
  await client.ended()
  clearInterval(drip)
  t.ok(at < PREFACE.length)
  t.same(served, [])
})

for (const [description, first, version] of [
  ['the preface', PREFACE, '2'],
  ['a request', 'PRI / HTTP/1.1\r\n', '1'],
] as const) {
  t.test(
    `detects HTTP/${version} from ${description} that arrives byte by byte in time`,
    async (t) => {
      const { client, served } = await open(t)
      for (const byte of first) {
        client.send(byte)
        await new Promise((resolve) => setImmediate(resolve))
      }
      await client.ended()
      t.same(served, [version])
    },
  )
}
