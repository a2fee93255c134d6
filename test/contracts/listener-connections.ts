import { once } from 'node:events'
import t from 'tap'
import type { Exchange } from '../../core/exchange.ts'
import { HeaderList } from '../../core/http/headers.ts'
import { openListener } from '../fixtures/open-listener.ts'
import { RawClient, splitReplies, statusCodes } from '../fixtures/raw-client.ts'
import type { ListenerSubject } from './listener-subject.ts'

const REQUEST = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'

/** Exchanges to which the test responds. */
class PendingExchanges {
  readonly exchanges: Exchange[] = []
  #waiting: (() => void)[] = []

  readonly handle = (x: Exchange): void => {
    this.exchanges.push(x)
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  async count(count: number): Promise<Exchange[]> {
    while (this.exchanges.length < count)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return this.exchanges
  }
}

async function waitUntil(test: () => boolean): Promise<void> {
  while (!test()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Start and end of connections. */
export function testListenerConnections({ create, name, http2 = false }: ListenerSubject): void {
  t.test('serves sequential requests on a connection', async (t) => {
    const { port, listener } = await openListener(t, create, (x) => x.reply(200, x.path))
    const client = new RawClient(port)
    for (let i = 1; i <= 20; i++) {
      const replies = await client.send(`GET /${i} HTTP/1.1\r\nHost: a.test\r\n\r\n`).replies(i)
      t.ok(replies[i - 1]!.endsWith(`/${i}`))
    }
    t.equal(listener.connections, 1)
    client.destroy()
    await waitUntil(() => listener.connections === 0)
  })

  for (const value of ['close', 'Close', 'x-a, close', 'keep-alive, close']) {
    t.test(
      `closes the connection after the response for Connection: ${value}`,
      { skip: http2 && 'HTTP/2 has no such header' },
      async (t) => {
        const { port } = await openListener(t, create, (x) => x.reply(200, 'bye'))
        const client = new RawClient(port)
        await client.send(`GET / HTTP/1.1\r\nHost: a.test\r\nConnection: ${value}\r\n\r\n`).ended()
        t.match(client.text, /^HTTP\/1\.1 200 .*bye$/s)
      },
    )
  }

  t.test('responds to pipelined requests in order', async (t) => {
    const { port } = await openListener(t, create, (x) => x.reply(200, x.path))
    const client = new RawClient(port)
    const paths = Array.from({ length: 20 }, (_, i) => `/${i}`)
    client.send(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`).join(''))
    const replies = await client.replies(paths.length)
    client.destroy()
    t.same(
      replies.map((reply) => reply.split('\r\n\r\n')[1]),
      paths,
    )
  })

  t.test(
    'responds to requests pipelined behind a pending request in order, or closes the connection',
    async (t) => {
      const { port } = await openListener(t, create, async (x) => {
        await new Promise((resolve) => setTimeout(resolve, x.path === '/0' ? 30 : 0))
        x.reply(200, x.path)
      })
      const client = new RawClient(port)
      const paths = ['/0', '/1', '/2']
      client.send(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`).join(''))
      await client.waitUntil(
        ({ text, closed }) => closed || splitReplies(text).length === paths.length,
      )
      client.destroy()
      const bodies = splitReplies(client.text).map((reply) => reply.split('\r\n\r\n')[1])
      t.same(bodies, paths.slice(0, bodies.length))
      // µWebSockets drops such a connection (µWebSockets issue 277).
      t.equal(bodies.length, name === 'uws' ? 0 : paths.length)
    },
  )

  t.test('ends a pending exchange once when the client disconnects', async (t) => {
    const connections = new PendingExchanges()
    const done: boolean[] = []
    const plugin = { name: 'watch', onDone: (x: Exchange) => void done.push(x.aborted) }
    const { port, gateway } = await openListener(t, create, connections.handle, {}, [plugin])
    const client = new RawClient(port)
    client.send(REQUEST)
    const [x] = await connections.count(1)
    let aborted = 0
    x!.pipeTo({ onRequestBody: () => {}, onDrain: () => {}, onAbort: () => aborted++ })
    client.destroy()
    await waitUntil(() => x!.finished)
    x!.reply(200, 'too late')
    x!.start(200, new HeaderList(), -1)
    x!.write(Buffer.from('too late'))
    x!.end()
    t.equal(aborted, 1)
    t.same(done, [true])
    t.equal(gateway.inFlight, 0)
  })

  t.test('ends the exchange when the client disconnects during a stream', async (t) => {
    const connections = new PendingExchanges()
    const { port } = await openListener(t, create, connections.handle)
    const client = new RawClient(port)
    client.send(REQUEST)
    const [x] = await connections.count(1)
    let aborted = 0
    x!.pipeTo({ onRequestBody: () => {}, onDrain: () => {}, onAbort: () => aborted++ })
    x!.start(200, new HeaderList(), -1)
    x!.write(Buffer.from('data'))
    await client.waitUntil(({ text }) => text.includes('data'))
    client.destroy()
    await waitUntil(() => x!.finished)
    t.equal(aborted, 1)
    t.equal(x!.aborted, true)
    t.equal(x!.write(Buffer.from('more')), true)
  })

  t.test('fails with a one-line error if the port is in use', async (t) => {
    const { port } = await openListener(t, create, (x) => x.reply(200))
    const second = create({ host: '127.0.0.1', port, handle: () => {} })
    await t.rejects(second, {
      message: new RegExp(`^cannot listen on 127\\.0\\.0\\.1:${port}: [^\\n]*in use`),
    })
  })

  t.test(
    'closes connections beyond maxConnections immediately and accepts new ones after clients disconnect',
    async (t) => {
      const { port, listener } = await openListener(t, create, (x) => x.reply(200, 'ok'), {
        maxConnections: 2,
      })
      const clients = [new RawClient(port), new RawClient(port)]
      for (const client of clients) await client.send(REQUEST).replies(1)
      const third = new RawClient(port)
      await third.send(REQUEST).ended()
      t.equal(third.text, '')
      clients[0]!.destroy()
      await waitUntil(() => listener.connections === 1)
      const fourth = new RawClient(port)
      t.match(await fourth.send(REQUEST).replies(1), [/^HTTP\/1\.1 200 /])
      for (const client of [...clients, fourth]) client.destroy()
    },
  )

  t.test('completes a response in progress while draining', async (t) => {
    const size = 8 * 1024 * 1024
    const { port, listener, served } = await openListener(t, create, (x) =>
      x.reply(200, 'x'.repeat(size)),
    )
    const client = new RawClient(port)
    client.socket.pause()
    client.send(REQUEST)
    await waitUntil(() => served[0]?.answered === true)
    listener.drain()
    await new Promise((resolve) => setImmediate(resolve))
    client.socket.resume()
    await client.waitUntil(({ text, closed }) => closed || text.length > size)
    t.ok(client.text.length > size)
    client.destroy()
  })

  t.test(
    'while draining closes the port, completes requests and closes each connection after its next response',
    { skip: http2 && 'in HTTP/2 GOAWAY ends them: http2/connection.test.ts' },
    async (t) => {
      const connections = new PendingExchanges()
      const { port, listener } = await openListener(t, create, (x) => {
        if (x.path === '/pending') connections.handle(x)
        else x.reply(200, 'ok')
      })
      const running = new RawClient(port)
      running.send('GET /pending HTTP/1.1\r\nHost: a.test\r\n\r\n')
      const [x] = await connections.count(1)
      const idle = new RawClient(port)
      await idle.send(REQUEST).replies(1)
      const sending = new RawClient(port)
      await sending.send(REQUEST).replies(1)
      sending.send('GET /late HTTP/1.1\r\nHo')
      await new Promise((resolve) => setTimeout(resolve, 30))

      listener.drain()
      listener.drain()
      const rejectedSocket = new RawClient(port).socket
      const [error] = await once(rejectedSocket, 'error')
      t.equal(error.code, 'ECONNREFUSED')
      sending.send('st: a.test\r\n\r\n')
      x!.reply(200, 'done')
      await running.ended()
      t.match(running.text, /^HTTP\/1\.1 200 .*\r\nconnection: close\r\n.*done$/is)
      await sending.ended()
      t.same(statusCodes(sending.text), [200, 200])
      // µWebSockets lists no connections: it closes idle ones after ten seconds.
      if (name === 'uws') idle.destroy()
      else await idle.ended()
      await waitUntil(() => listener.connections === 0)
    },
  )

  t.test(
    'while draining with a successor serves one more request on idle connections, then closes them',
    async (t) => {
      const { port, listener } = await openListener(t, create, (x) => x.reply(200, 'ok'))
      const used = new RawClient(port)
      await used.send(REQUEST).replies(1)
      const unused = new RawClient(port)
      await waitUntil(() => listener.connections === 2)
      listener.drain(true)
      const [error] = await once(new RawClient(port).socket, 'error')
      t.equal(error.code, 'ECONNREFUSED')
      t.equal(used.closed, false)
      t.equal(unused.closed, false)
      for (const [client, replies] of [
        [used, [200, 200]],
        [unused, [200]],
      ] as const) {
        await client.send(REQUEST).ended()
        t.same(statusCodes(client.text), replies)
        t.match(client.text, /\r\nconnection: close\r\n(?!.*HTTP\/)/is)
      }
      await waitUntil(() => listener.connections === 0)
    },
  )

  t.test('closes the port and every connection', async (t) => {
    const connections = new PendingExchanges()
    const { port, listener } = await openListener(t, create, connections.handle)
    const clients = [new RawClient(port), new RawClient(port)]
    clients[0]!.send(REQUEST)
    const [x] = await connections.count(1)
    await listener.close()
    for (const client of clients) await client.ended()
    await waitUntil(() => x!.finished)
    t.equal(x!.aborted, true)
    const repeated = new RawClient(port)
    const [error] = await once(repeated.socket, 'error')
    t.equal(error.code, 'ECONNREFUSED')
    const reopened = await create({ host: '127.0.0.1', port, handle: () => {} })
    t.equal(reopened.port, port)
    await reopened.close()
  })

  t.test('serves many concurrent connections', async (t) => {
    const { port } = await openListener(t, create, (x) => x.reply(200, x.path))
    const clients = Array.from({ length: 200 }, () => new RawClient(port))
    const replies = await Promise.all(
      clients.map((client, i) =>
        client.send(`GET /${i} HTTP/1.1\r\nHost: a.test\r\n\r\n`).replies(1),
      ),
    )
    for (const client of clients) client.destroy()
    t.ok(replies.every(([reply], i) => reply!.endsWith(`\r\n\r\n/${i}`)))
  })
}
