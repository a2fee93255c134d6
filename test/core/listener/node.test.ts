import t from 'tap'
import { createNodeListener } from '../../../core/listener/node.ts'
import { testListener } from '../../contracts/listener.ts'
import { openListener } from '../../fixtures/open-listener.ts'
import { RawClient } from '../../fixtures/raw-client.ts'

testListener({ create: createNodeListener, name: 'node' })

t.test('OPTIONS * is served, and only OPTIONS has that target', async (t) => {
  const { port, served } = await openListener(t, createNodeListener, (x) => x.reply(204))
  const client = new RawClient(port)
  client.send('OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await client.until(({ text }) => text.includes('\r\n\r\n'))
  t.match(client.text, /^HTTP\/1.1 204 /)
  t.equal(served[0]!.path, '*')
  client.send('GET * HTTP/1.1\r\nHost: a.test\r\n\r\n')
  await client.until(({ text }) => text.includes('HTTP/1.1 400 '))
  client.destroy()
  for (const wrong of [
    'OPTIONS * HTTP/1.1\r\n\r\n',
    'OPTIONS *a HTTP/1.1\r\nHost: a.test\r\n\r\n',
  ]) {
    const other = new RawClient(port)
    other.send(wrong)
    await other.until(({ text }) => text.includes('\r\n\r\n'))
    t.match(other.text, /^HTTP\/1.1 400 /)
    other.destroy()
  }
  t.equal(served.length, 1)
})
