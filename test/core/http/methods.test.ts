import t from 'tap'
import { LISTENERS, openGateway } from '../../fixtures/gateway.ts'
import { RawClient } from '../../fixtures/raw-client.ts'

for (const [name, listener] of Object.entries(LISTENERS)) {
  t.test(`${name}: rejects an unsupported method with 405 and the allowed methods`, async (t) => {
    const { port } = await openGateway(t, {}, { listener })
    const targets = { TRACE: '/app', ...(name === 'node' && { CONNECT: 'a.test:80' }) }
    for (const [method, target] of Object.entries(targets)) {
      const client = new RawClient(port)
      client.send(`${method} ${target} HTTP/1.1\r\nHost: a.test\r\n\r\n`)
      await client.ended()
      t.match(client.text, /^HTTP\/1\.1 405 .*\r\nallow: GET, HEAD, [A-Z, ]*OPTIONS\r\n/s, method)
    }
  })
}
