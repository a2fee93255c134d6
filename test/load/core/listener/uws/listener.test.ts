import t from 'tap'
import { GatewayError } from '../../../../../core/errors.ts'
import type { Exchange } from '../../../../../core/exchange.ts'
import { HeaderList } from '../../../../../core/http/headers.ts'
import { createUwsListener } from '../../../../../core/listener/uws/listener.ts'
import { testListener } from '../../../../contracts/listener.ts'
import { openListener } from '../../../../fixtures/open-listener.ts'
import { RawClient } from '../../../../fixtures/raw-client.ts'

testListener({ create: createUwsListener, name: 'uws' })

t.test('reports the first request that the library rejects', async (t) => {
  let reports = 0
  const { port, listener } = await openListener(t, createUwsListener, (x) => x.reply(200), {
    onUnreadable: () => void reports++,
  })
  const sendRequest = async (version: string) => {
    const client = new RawClient(port)
    await client.send(`GET / HTTP/${version}\r\nHost: a.test\r\nConnection: close\r\n\r\n`).ended()
    client.destroy()
    while (listener.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    return client.text.slice(0, 12)
  }
  t.equal(await sendRequest('1.1'), 'HTTP/1.1 200')
  t.equal(reports, 0)
  t.equal(await sendRequest('1.0'), 'HTTP/1.1 505')
  t.equal(reports, 1)
  t.equal(await sendRequest('1.0'), 'HTTP/1.1 505')
  t.equal(reports, 1)
})

t.test('a stream that fails before its first byte is replaced by an error response', async (t) => {
  const hook = { name: 'id', onReply: (x: Exchange) => x.replyHeaders.set('x-request-id', 'a') }
  const { port, served } = await openListener(
    t,
    createUwsListener,
    (x) => {
      x.start(200, new HeaderList(['x-backend', '1']), x.path === '/long' ? 9 : -1)
      x.abortWith(new GatewayError('app', 502, 'the response broke off'))
    },
    {},
    [hook],
  )
  const client = new RawClient(port)
  for (const [i, path] of ['/chunked', '/long'].entries()) {
    client.send(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`)
    const replies = await client.replies(i + 1)
    t.match(replies[i], /^HTTP\/1\.1 502 .*"Detail":"the response broke off"/s)
    t.match(replies[i], /\r\nx-request-id: a\r\n/i)
    t.notMatch(replies[i], /x-backend/)
  }
  client.destroy()
  t.same(
    served.map(({ status, aborted, finished }) => ({ status, aborted, finished })),
    Array(2).fill({ status: 502, aborted: false, finished: true }),
  )
})
