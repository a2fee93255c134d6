// Requires a process in which no connection was paused before.
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { Exchange } from '../../../../core/exchange.ts'
import { HeaderList } from '../../../../core/http/headers.ts'
import { createUwsListener } from '../../../../core/listener/uws/listener.ts'
import { openListener } from '../../../fixtures/open-listener.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'

const MIB = 1024 * 1024

t.test('a paused upload resumes while a response is pending for its client', async (t) => {
  let exchange: Exchange | undefined
  let received = 0
  let drains = 0
  const { port } = await openListener(t, createUwsListener, (x) => {
    exchange = x
    x.pipeTo({
      onRequestBody: (chunk) => {
        received += chunk.length
      },
      onDrain: () => drains++,
      onAbort: () => {},
    })
  })
  const client = connect(port, '127.0.0.1')
  t.teardown(() => client.destroy())
  await once(client, 'connect')
  client.pause()
  client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${16 * MIB}\r\n\r\n`)
  client.write(Buffer.alloc(MIB))
  await waitUntil(() => received === MIB)
  const x = exchange!
  x.pauseBody()
  // The response starts in a later tick than the arrival of the body.
  for (let round = 0; round < 2; round++) await new Promise(setImmediate)
  x.start(200, new HeaderList([]), -1)
  while (x.write(Buffer.alloc(MIB))) await new Promise(setImmediate)
  x.resumeBody()
  client.resume()
  client.write(Buffer.alloc(15 * MIB))
  await waitUntil(() => received === 16 * MIB && drains > 0)
  t.equal(x.aborted, false)
})
