import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import t from 'tap'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { HeaderList } from '../../core/http/headers.ts'
import { replyMemory } from '../../core/limits/memory-budget.ts'
import { openListener } from '../fixtures/open-listener.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'
import { RawClient, splitReplies } from '../fixtures/raw-client.ts'
import type { ListenerSubject } from './listener-subject.ts'

/** More bytes than the socket buffers hold for a client that does not read. */
const LONG = Buffer.alloc(16 * 1024 * 1024, 'abcdefg')
const REQUEST = 'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n'

/** Complete and streamed responses. */
export function testListenerReplies({ create, http2 = false }: ListenerSubject): void {
  t.test('replaces a non-final status with 500 and logs it (RFC 9110 §15)', async (t) => {
    const statuses = [0, 99, 100, 101, 102, 103, 199, 600, 999, 200.5, Number.NaN]
    const { port, faults } = await openListener(t, create, (x) => {
      const status = statuses[Number(x.query)]!
      if (x.path === '/whole') x.reply(status, 'body')
      else x.start(status, new HeaderList(), -1)
    })
    for (const path of ['/whole', '/streamed']) {
      for (const [i, status] of statuses.entries()) {
        const reply = await fetch(`http://127.0.0.1:${port}${path}?${i}`)
        t.equal(reply.status, 500, `${status}`)
        t.match(await reply.text(), /"internal error"/)
      }
    }
    t.equal(faults.length, 2 * statuses.length)
  })

  t.test('sends status, repeated headers, one length and one date', async (t) => {
    const { port } = await openListener(t, create, (x) => {
      x.reply(418, 'short and stout', ['set-cookie', 'a=1', 'x-a', 'b', 'set-cookie', 'c=2'])
    })
    const client = new RawClient(port)
    const [reply] = await client.send(REQUEST).replies(1)
    client.destroy()
    t.match(reply, /^HTTP\/1\.1 418 I'm a Teapot\r\n/)
    // node:http2 sends headers with the same name together.
    if (http2) t.match(reply, /set-cookie: a=1\r\nset-cookie: c=2\r\nx-a: b\r\n/i)
    else t.match(reply, /set-cookie: a=1\r\nx-a: b\r\nset-cookie: c=2\r\n/i)
    t.equal(reply!.match(/\r\ndate: /gi)?.length, 1)
    t.equal(reply!.match(/\r\ncontent-length: 15\r\n/gi)?.length, 1)
    t.notMatch(reply, /uwebsockets|powered-by|transfer-encoding/i)
    t.ok(reply!.endsWith('\r\n\r\nshort and stout'))
  })

  t.test('sends text as UTF-8 alongside header values above 0x7F', async (t) => {
    const { port } = await openListener(t, create, (x) => x.reply(200, 'grün', ['x-a', '\xfc']))
    const client = new RawClient(port)
    const [reply] = await client.send(REQUEST).replies(1)
    client.destroy()
    t.match(reply, /\r\nx-a: \xfc\r\n/i)
    t.match(reply, /\r\ncontent-length: 5\r\n/i)
    t.ok(reply!.endsWith('\r\n\r\ngr\xc3\xbcn'))
  })

  const bodyless: [string, (x: Exchange) => void, string, RegExp | undefined][] = [
    ['HEAD, not streamed', (x) => x.reply(200, 'hello'), 'HEAD', /^5$/],
    ['HEAD, streamed', (x) => startAndEnd(x, 200, 1234), 'HEAD', /^1234$/],
    ['HEAD, streamed, length unknown', (x) => startAndEnd(x, 200, -1), 'HEAD', undefined],
    ['HEAD, an error', (x) => x.fail(new GatewayError('a', 404, 'b')), 'HEAD', /^\d+$/],
    ['204, not streamed', (x) => x.reply(204), 'GET', undefined],
    ['204, streamed', (x) => startAndEnd(x, 204, 0), 'GET', undefined],
    ['204 to a HEAD', (x) => x.reply(204), 'HEAD', undefined],
    ['304, not streamed', (x) => x.reply(304, '', ['etag', '"a"']), 'GET', undefined],
    ['304, streamed with the length of the 200', (x) => startAndEnd(x, 304, 777), 'GET', /^777$/],
  ]
  for (const [title, handle, method, length] of bodyless) {
    t.test(
      `${title}: sends no body and the correct length, and the connection stays open`,
      async (t) => {
        const { port } = await openListener(t, create, (x) => {
          if (x.path === '/next') x.reply(200, 'next')
          else handle(x)
        })
        const client = new RawClient(port)
        client.send(`${method} / HTTP/1.1\r\nHost: a.test\r\n\r\n`)
        await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
        const head = client.text.slice(0, client.text.indexOf('\r\n\r\n') + 4)
        client.send('GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n')
        await client.waitUntil(({ text }) => text.endsWith('\r\n\r\nnext'))
        client.destroy()
        t.match(
          client.text.slice(head.length),
          /^HTTP\/1\.1 200 /,
          'the next response follows immediately',
        )
        const sent = /\r\ncontent-length: (.*)\r\n/i.exec(head)?.[1]
        if (length === undefined) t.equal(sent, undefined)
        else t.match(sent, length)
      },
    )
  }

  // Lengths delimit responses of HTTP/1.1: HTTP/2 has streams.
  for (const closer of http2 ? [] : ['the client', 'a drain']) {
    t.test(
      `closes the connection after a response without body, requested by ${closer}`,
      async (t) => {
        const pending: Exchange[] = []
        const { port, listener } = await openListener(t, create, (x) => {
          if (pending.push(x) < bodyless.length) return
          if (closer === 'a drain') listener.drain()
          for (const x of pending) {
            bodyless[Number(x.path.slice(1))]![1](x)
          }
        })
        const closeHeader = closer === 'the client' ? 'Connection: close\r\n' : ''
        const clients = bodyless.map(([, , method], i) =>
          new RawClient(port).send(
            `${method} /${i} HTTP/1.1\r\nHost: a.test\r\n${closeHeader}\r\n`,
          ),
        )
        for (const [i, [title, , , length]] of bodyless.entries()) {
          const client = clients[i]!
          await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
          if (closer === 'the client') await client.ended()
          else
            t.match(client.text, /\r\nconnection: close\r\n/i, `${title}: sends Connection: close`)
          t.match(client.text, /^HTTP.*?\r\n\r\n$/s, `${title}: no body`)
          const sent = /\r\ncontent-length: (.*)\r\n/i.exec(client.text)?.[1]
          if (length === undefined) t.equal(sent, undefined, title)
          else t.match(sent, length, title)
          client.destroy()
        }
      },
    )
  }

  t.test('streams a response of known length, and one of unknown length in chunks', async (t) => {
    const { port } = await openListener(t, create, async (x) => {
      x.start(200, new HeaderList(['x-a', 'gr\xfcn']), x.path === '/known' ? 6 : -1)
      for (const part of ['one', '', 'two']) {
        x.write(Buffer.from(part))
        await new Promise((resolve) => setImmediate(resolve))
      }
      x.end()
    })
    const client = new RawClient(port)
    client.send('GET /known HTTP/1.1\r\nHost: a.test\r\n\r\n')
    const [known] = await client.replies(1)
    t.match(known, /\r\nx-a: gr\xfcn\r\n/i, 'header values are byte strings')
    t.ok(known!.endsWith('\r\n\r\nonetwo'))
    client.send('GET /unknown HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await client.waitUntil(({ text }) => text.endsWith('0\r\n\r\n'))
    const unknown = client.text.slice(known!.length)
    client.destroy()
    t.match(unknown, /\r\ntransfer-encoding: chunked\r\n/i)
    t.notMatch(unknown, /content-length/i)
    t.match(unknown, /\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n$/)
  })

  t.test('sends the head and each part of a stream as it is written', async (t) => {
    let x: Exchange | undefined
    const { port } = await openListener(t, create, (exchange) => {
      x = exchange
      x.start(200, new HeaderList(['content-type', 'text/event-stream']), -1)
      x.write(Buffer.from('data: 1\n\n'))
    })
    const client = new RawClient(port)
    await client.send(REQUEST).waitUntil(({ text }) => text.includes('data: 1\n\n'))
    x!.write(Buffer.from('data: 2\n\n'))
    await client.waitUntil(({ text }) => text.includes('data: 2\n\n'))
    x!.end()
    await client.waitUntil(({ text }) => text.endsWith('0\r\n\r\n'))
    client.destroy()
    t.ok(x!.finished)
    t.equal(x!.aborted, false)
  })

  t.test('opens an event stream before its first event', async (t) => {
    const arrived: Exchange[] = []
    const { port } = await openListener(t, create, (x) => {
      const coding = x.path === '/gzip' ? ['content-encoding', 'gzip'] : []
      const type = 'Text/Event-Stream; charset=utf-8'
      x.start(200, new HeaderList(['content-type', type, ...coding]), -1)
      // Called after a listener handles a head without a body.
      setImmediate(() => {
        arrived.push(x)
        if (x.path !== '/gzip') return
        x.write(Buffer.from('coded'))
        x.end()
      })
    })
    const client = new RawClient(port)
    await client.send(REQUEST).waitUntil(({ text }) => text.includes('\r\n\r\n'))
    arrived[0]!.write(Buffer.from('data: 1\n\n'))
    arrived[0]!.end()
    await client.waitUntil(({ text }) => text.endsWith('0\r\n\r\n'))
    t.match(client.text, /\r\n\r\n(?:2\r\n:\n\r\n)?9\r\ndata: 1\n\n\r\n0\r\n\r\n$/)
    client.send('GET /gzip HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await client.waitUntil(({ text }) => text.endsWith('coded\r\n0\r\n\r\n'))
    t.match(client.text, /\r\n\r\n5\r\ncoded\r\n0\r\n\r\n$/)
    client.destroy()
  })

  t.test('responds to an exception of the chain, and the connection stays open', async (t) => {
    const { port, faults, gateway } = await openListener(t, create, (x) => {
      if (x.path === '/thrown') throw new Error('secret')
      if (x.path === '/rejected') return Promise.reject(new Error('secret'))
      if (x.path === '/error')
        throw new GatewayError('go.mx.greeter', 429, 'slow down', {
          headers: ['retry-after', '1'],
        })
      if (x.path === '/name') return x.reply(200, '', ['bad name', 'x'])
      if (x.path === '/value') return x.reply(200, '', ['x-a', 'b\r\nx-injected: 1'])
      x.reply(200, 'fine')
    })
    const client = new RawClient(port)
    const paths = ['/thrown', '/rejected', '/error', '/name', '/value', '/fine']
    for (const [i, path] of paths.entries()) {
      await client.send(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`).replies(i + 1)
    }
    client.destroy()
    const replies = splitReplies(client.text)
    t.same(
      replies.map((reply) => reply.slice(9, 12)),
      ['500', '500', '429', '500', '500', '200'],
    )
    t.match(
      replies[0],
      /\{"Id":"go.mx.api","Code":500,"Detail":"internal error","Status":"Internal Server Error"\}$/,
    )
    t.match(replies[2], /\r\nretry-after: 1\r\n/i)
    t.match(
      replies[2],
      /\{"Id":"go.mx.greeter","Code":429,"Detail":"slow down","Status":"Too Many Requests"\}$/,
    )
    t.notMatch(client.text, /secret|injected/)
    t.equal(faults.length, 4)
    t.equal(gateway.inFlight, 0)
  })

  if (!http2) {
    t.test('completes a stream that closes its connection', async (t) => {
      const { port, served } = await openListener(t, create, async (x) => {
        x.start(200, new HeaderList(), -1)
        for (const part of ['one', 'two']) {
          x.write(Buffer.from(part))
          await new Promise((resolve) => setImmediate(resolve))
        }
        x.end()
      })
      const client = new RawClient(port)
      client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n')
      client.send('1\r\na\r\n0\r\n\r\n')
      await client.waitUntil(({ text }) => text.endsWith('0\r\n\r\n'))
      t.match(client.text, /\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n$/)
      t.equal(client.text.match(/\r\nconnection: close\r\n/gi)?.length, 1)
      client.send(REQUEST)
      const other = new RawClient(port)
      other.send(REQUEST)
      await other.waitUntil(({ text }) => text.endsWith('0\r\n\r\n'))
      t.equal(served.length, 2, 'the request behind it is not served')
      client.destroy()
      other.destroy()
    })
  }

  if (!http2) {
    t.test('delivers an ended stream completely when the listener closes', async (t) => {
      const piece = Buffer.alloc(5000, 'x')
      let pieces = 0
      const { port, served, gateway, listener } = await openListener(t, create, (x) => {
        x.start(200, new HeaderList(), -1)
        do pieces++
        while (x.write(piece) && pieces * piece.length < LONG.length)
        x.end()
      })
      const client = new RawClient(port)
      client.socket.pause()
      client.send(REQUEST)
      await waitUntil(() => served.length === 1)
      const closed = gateway.idle().then(() => listener.close())
      client.socket.resume()
      await closed
      await client.ended()
      t.ok(client.text.endsWith('\r\n0\r\n\r\n'), 'the response is complete')
      t.equal(served[0]!.aborted, false)
      t.equal(client.text.match(/x+/g)?.join('').length, pieces * piece.length)
    })
  }

  t.test('responds with 500 if a reply hook throws', async (t) => {
    const warnings: unknown[] = []
    const onWarning = (warning: unknown) => warnings.push(warning)
    process.on('warning', onWarning)
    t.teardown(() => process.off('warning', onWarning))
    const plugin = {
      name: 'broken',
      onReply: (x: Exchange) => {
        if (x.path === '/broken') throw new Error('broken hook')
        x.replyHeaders.set('x-hook', 'ran')
      },
    }
    const { port } = await openListener(t, create, (x) => startAndEnd(x, 200, 0), {}, [plugin])
    const client = new RawClient(port)
    client.send('GET /broken HTTP/1.1\r\nHost: a.test\r\n\r\n')
    await client.replies(1)
    const replies = await client.send(REQUEST).replies(2)
    client.destroy()
    t.match(replies[0], /^HTTP\/1\.1 500 /)
    t.match(replies[1], /^HTTP\/1\.1 200 .*\r\nx-hook: ran\r\n/is)
  })

  t.test('delivers data in order if it is written despite back-pressure', async (t) => {
    const piece = (n: number) => Buffer.alloc(64 * 1024, 97 + (n % 26))
    const pieces = 128
    const { port } = await openListener(t, create, (x) => {
      x.start(200, new HeaderList(), x.path === '/known' ? pieces * piece(0).length : -1)
      for (let n = 0; n < pieces; n++) x.write(piece(n))
      x.end()
    })
    const client = new RawClient(port)
    client.send('GET /known HTTP/1.1\r\nHost: a.test\r\n\r\n')
    const [reply] = await client.replies(1)
    client.destroy()
    const body = reply!.slice(reply!.indexOf('\r\n\r\n') + 4)
    const complete = Buffer.concat(Array.from({ length: pieces }, (_, n) => piece(n)))
    t.ok(body === complete.toString('latin1'), 'byte for byte')
  })

  t.test('starts a stream of many parts while the request is being read', async (t) => {
    let rejected = false
    const { port } = await openListener(t, create, (x) => {
      const send = () => {
        for (; sent < 20_000; sent++) {
          if (x.write(Buffer.from(`${sent}\n`.padStart(100)))) continue
          rejected = true
          sent++
          return
        }
        x.end()
      }
      let sent = 0
      x.pipeTo({ onRequestBody: () => {}, onDrain: send, onAbort: () => {} })
      x.start(200, new HeaderList(), -1)
      send()
    })
    const client = new RawClient(port)
    await client
      .send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nx')
      .waitUntil(({ text }) => text.endsWith('\r\n0\r\n\r\n'))
    client.destroy()
    const lines = client.text.match(/^ +\d+$/gm)!.map(Number)
    t.ok(rejected, 'write returned false: back-pressure')
    t.equal(lines.length, 20_000)
    t.ok(lines.every((line, i) => line === i))
  })

  t.test('ignores all but the first response', async (t) => {
    const { port } = await openListener(t, create, (x) => {
      x.reply(200, 'first')
      x.reply(500, 'second')
      x.start(500, new HeaderList(), -1)
      x.write(Buffer.from('third'))
      x.end()
    })
    const client = new RawClient(port)
    await client.send(REQUEST).replies(1)
    const replies = await client.send(REQUEST).replies(2)
    client.destroy()
    for (const reply of replies) t.match(reply, /^HTTP\/1\.1 200 .*first$/s)
  })

  t.test(
    'cuts the connection of an aborted stream, so the response cannot appear complete',
    async (t) => {
      const { port } = await openListener(t, create, async (x) => {
        x.start(200, new HeaderList(), x.path === '/known' ? 100 : -1)
        x.write(Buffer.from('some'))
        await new Promise((resolve) => setTimeout(resolve, 20))
        x.abortWith(new GatewayError('a', 502, 'backend broke off'))
      })
      for (const path of ['/known', '/unknown']) {
        const client = new RawClient(port)
        await client.send(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`).ended()
        t.match(client.text, /some/)
        t.notMatch(client.text, /\r\n0\r\n\r\n$/)
      }
    },
  )

  for (const keepAlive of [true, false]) {
    t.test(
      `bounds the memory of long responses to slow clients; keep-alive: ${keepAlive}`,
      async (t) => {
        const { maxBytes } = replyMemory
        replyMemory.maxBytes = LONG.length + 1000
        t.teardown(() => {
          replyMemory.maxBytes = maxBytes
        })
        const { port } = await openListener(t, create, (x) =>
          x.reply(200, x.path === '/text' ? LONG.toString('latin1') : LONG),
        )
        const agent = new Agent({ keepAlive })
        t.teardown(() => agent.destroy())
        const sendRequest = async (path: string): Promise<IncomingMessage> => {
          const [reply] = await once(get({ port, path, agent }), 'response')
          return reply
        }
        for (const path of ['/bytes', '/text']) {
          const slow = await sendRequest(path)
          t.equal(slow.statusCode, 200)
          t.equal(replyMemory.usedBytes, LONG.length)
          const rejected = await sendRequest(path)
          t.equal(rejected.statusCode, 503)
          t.equal(rejected.headers['retry-after'], '1')
          rejected.resume()
          t.ok(LONG.equals(Buffer.concat(await slow.toArray())), 'the complete response arrives')
          await waitUntil(() => replyMemory.usedBytes === 0)
        }
        const lastResponse = await sendRequest('/bytes')
        t.equal(replyMemory.usedBytes, LONG.length)
        lastResponse.destroy()
        await waitUntil(() => replyMemory.usedBytes === 0)
      },
    )
  }
}

function startAndEnd(x: Exchange, status: number, length: number): void {
  x.start(status, new HeaderList(), length)
  x.end()
}
