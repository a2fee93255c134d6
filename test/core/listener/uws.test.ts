import t from 'tap'
import { createUwsListener } from '../../../core/listener/uws.ts'
import { testListener } from '../../contracts/listener.ts'
import { openListener } from '../../fixtures/open-listener.ts'
import { RawClient } from '../../fixtures/raw-client.ts'

testListener({ create: createUwsListener, name: 'uws' })

t.test('reports once that a client sends what the library rejects by itself', async (t) => {
  let reports = 0
  const { port, listener } = await openListener(t, createUwsListener, (x) => x.reply(200), {
    onUnreadable: () => void reports++,
  })
  const ask = async (version: string) => {
    const client = new RawClient(port)
    await client.send(`GET / HTTP/${version}\r\nHost: a.test\r\nConnection: close\r\n\r\n`).ended()
    client.destroy()
    while (listener.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    return client.text.slice(0, 12)
  }
  t.equal(await ask('1.1'), 'HTTP/1.1 200')
  t.equal(reports, 0)
  t.equal(await ask('1.0'), 'HTTP/1.1 505')
  t.equal(reports, 1)
  t.equal(await ask('1.0'), 'HTTP/1.1 505')
  t.equal(reports, 1)
})
