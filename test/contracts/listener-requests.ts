import { networkInterfaces } from 'node:os'
import t from 'tap'
import type { Exchange } from '../../core/exchange.ts'
import { parseListenAddress } from '../../sdk/service/listen-address.ts'
import { openListener } from '../fixtures/open-listener.ts'
import { RawClient, splitReplies, statusCodes } from '../fixtures/raw-client.ts'
import type { ListenerSubject } from './listener-subject.ts'

const ok = (x: Exchange) => x.reply(200, 'ok')

/** Requests as the chain receives them. */
export function testListenerRequests({ create, name, http2 = false }: ListenerSubject): void {
  t.test('preserves method, path, query and host', async (t) => {
    const { port, served } = await openListener(t, create, ok)
    const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE', 'REPORT']
    for (const method of methods) {
      const target = `/a/%20b;c=d//e?x=1&x=2?&y=%2F`
      const client = new RawClient(port)
      const head = `${method} ${target} HTTP/1.1\r\nHost: Api.Example.test:81\r\nContent-Length: 0\r\n\r\n`
      t.match(await client.send(head).replies(1), [/^HTTP\/1\.1 200 /], method)
      client.destroy()
      const x = served.at(-1)!
      t.equal(x.method, method)
      t.equal(x.path, '/a/%20b;c=d//e')
      t.equal(x.query, 'x=1&x=2?&y=%2F')
      t.equal(x.target, target)
      t.equal(x.host, 'Api.Example.test:81')
    }
  })

  t.test('treats methods as case-sensitive', async (t) => {
    const { port, served } = await openListener(t, create, ok)
    for (const method of ['get', 'Get', 'post', 'GETS']) {
      const client = new RawClient(port)
      await client.send(`${method} / HTTP/1.1\r\nHost: a.test\r\n\r\n`).replies(1)
      client.destroy()
      // Malformed requests are rejected or forwarded unchanged.
      t.strictSame(
        served.splice(0).filter((x) => x.method !== method),
        [],
        method,
      )
    }
  })

  t.test('exposes the client address and the announced length', async (t) => {
    let received: unknown
    const { port } = await openListener(t, create, (x) => {
      received = [x.remoteAddress, x.clientAddress, x.secure, x.bodyLength, x.upgrade]
      x.reply(200)
    })
    const client = new RawClient(port)
    await client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n').replies(1)
    t.same(received, ['127.0.0.1', '127.0.0.1', false, 0, false])
    await client.send('PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc').replies(2)
    t.same(received, ['127.0.0.1', '127.0.0.1', false, 3, false])
    client.destroy()
  })

  t.test('assigns each client its own address on concurrent connections', async (t) => {
    const { port } = await openListener(t, create, (x) => x.reply(200, x.remoteAddress))
    const sendRequest = async (client: RawClient): Promise<string> => {
      const before = splitReplies(client.text).length
      const replies = await client
        .send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
        .replies(before + 1)
      return replies.at(-1)!.split('\r\n\r\n')[1]!
    }
    const first = new RawClient(port)
    t.equal(await sendRequest(first), '127.0.0.1')
    const second = new RawClient(port, undefined, '127.0.0.2')
    t.equal(await sendRequest(second), '127.0.0.2')
    t.equal(await sendRequest(first), '127.0.0.1')
    second.destroy()
    t.equal(await sendRequest(first), '127.0.0.1')
    const third = new RawClient(port, undefined, '127.0.0.3')
    t.equal(await sendRequest(third), '127.0.0.3')
    first.destroy()
    t.equal(await sendRequest(third), '127.0.0.3')
    third.destroy()
  })

  t.test('serves IPv4 and IPv6 on a bare port, with IPv4 addresses for IPv4 clients', async (t) => {
    const options = parseListenAddress(':0')
    const { port } = await openListener(t, create, (x) => x.reply(200, x.remoteAddress), options)
    const hasIPv6 = networkInterfaces()['lo']?.some(({ address }) => address === '::1')
    for (const address of hasIPv6 ? ['127.0.0.1', '::1'] : ['127.0.0.1']) {
      const client = new RawClient(port, undefined, address)
      const [reply] = await client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n').replies(1)
      t.equal(reply!.split('\r\n\r\n')[1], address)
      client.destroy()
    }
  })

  t.test(
    'preserves order and repeats of headers, in lower case',
    { skip: http2 && 'node:http2 sends headers with the same name together' },
    async (t) => {
      const { port, served } = await openListener(t, create, ok)
      const fields =
        'X-B: 1\r\nAccept: a\r\nx-b:2\r\nX-Empty:\r\nX-B: \t 3 \t\r\nCookie: a=b\r\nCookie: c=d\r\n'
      const client = new RawClient(port)
      await client.send(`GET / HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`).replies(1)
      client.destroy()
      t.same(served[0]!.headers.flat, [
        ...['x-b', '1', 'accept', 'a', 'x-b', '2', 'x-empty', '', 'x-b', '3'],
        ...['cookie', 'a=b', 'cookie', 'c=d'],
      ])
    },
  )

  // µWebSockets decodes values as UTF-8, and strips such bytes at both ends of a value like blanks.
  const values = name === 'uws' ? ['gr\xc3\xbcn'] : ['gr\xc3\xbcn', 'caf\xe9', '\xc3\xbc \xff']
  for (const value of values) {
    t.test(`preserves the bytes of the header value ${JSON.stringify(value)}`, async (t) => {
      const { port, served } = await openListener(t, create, (x) => {
        x.reply(200, '', ['x-back', x.headers.get('x-a') ?? 'none'])
      })
      const client = new RawClient(port)
      const head = `GET / HTTP/1.1\r\nHost: a.test\r\nX-A: ${value}\r\n\r\n`
      const [reply] = await client.send(head).replies(1)
      client.destroy()
      t.equal(served[0]!.headers.get('x-a'), value)
      t.ok(reply!.includes(`\r\nx-back: ${value}\r\n`))
    })
  }

  // The library drops them before the gateway can check them (docs/limits.md).
  const trimmed = name === 'uws' ? ['zo\xc3\xab', '\xc3\xabzo', 'zo\xeb', '\xff zo \xff'] : []
  for (const value of trimmed) {
    t.test(`limit: trims the header value ${JSON.stringify(value)}`, async (t) => {
      const { port, served } = await openListener(t, create, ok)
      const client = new RawClient(port)
      await client.send(`GET / HTTP/1.1\r\nHost: a.test\r\nX-A: ${value}\r\n\r\n`).replies(1)
      client.destroy()
      t.equal(served[0]!.headers.get('x-a'), 'zo')
    })
  }

  t.test(
    'removes hop-by-hop headers and headers named by Connection (RFC 9110 §7.6.1)',
    { skip: http2 && 'HTTP/2 has no such headers' },
    async (t) => {
      const { port, served } = await openListener(t, create, ok)
      const fields = [
        'Connection: X-Drop, keep-alive',
        'Connection: X-Drop-Too',
        'X-Drop: 1',
        'X-Drop-Too: 1',
        'Keep-Alive: timeout=5',
        'Proxy-Connection: keep-alive',
        'TE: trailers',
        'Trailer: X-T',
        'Upgrade: h2c',
        'HTTP2-Settings: AAMAAABkAAQAAP__',
        'Proxy-Authorization: Basic eA==',
        'Proxy-Authenticate: Basic',
        'Expect: 100-continue',
        'X-Keep: 1',
      ]
      const client = new RawClient(port)
      await client
        .send(`GET / HTTP/1.1\r\nHost: a.test\r\n${fields.join('\r\n')}\r\n\r\n`)
        .waitUntil(({ text }) => statusCodes(text).includes(200))
      client.destroy()
      t.same(served[0]!.headers.flat, ['x-keep', '1'])
    },
  )

  t.test(
    'retains client and framing headers that Connection names',
    { skip: http2 && 'HTTP/2 has no such header' },
    async (t) => {
      const { port, served } = await openListener(t, create, ok)
      const names = [
        'authorization',
        'x-forwarded-for',
        'x-forwarded-proto',
        'forwarded',
        'x-real-ip',
        'mx-namespace',
      ]
      const fields = names.map((field) => `${field}: 1\r\n`).join('')
      const client = new RawClient(port)
      const named = ['close', 'host', 'content-length', ...names].join(', ')
      await client
        .send(
          `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nConnection: ${named}\r\n${fields}\r\nabc`,
        )
        .ended()
      const x = served[0]!
      t.equal(x.host, 'a.test')
      t.equal(x.bodyLength, 3)
      t.same(
        x.headers.flat,
        names.flatMap((field) => [field, '1']),
      )
    },
  )

  t.test(
    'drops headers reserved for the gateway and names that backends confuse with them',
    async (t) => {
      const { port, served } = await openListener(t, create, ok)
      const client = new RawClient(port)
      const fields =
        'Mx-Account: root\r\nMx-Namespace: shop\r\nX_Forwarded_For: 1.2.3.4\r\nX-Ok: 1\r\n'
      await client.send(`GET / HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`).replies(1)
      client.destroy()
      t.same(served[0]!.headers.flat, ['mx-namespace', 'shop', 'x-ok', '1'])
    },
  )

  t.test('passes headers reserved for the gateway to a service behind the gateway', async (t) => {
    const { port, served } = await openListener(t, create, ok, { internalHeaders: true })
    const client = new RawClient(port)
    const fields =
      'Mx-Account: root\r\nMx-Namespace: shop\r\nMx_Account: x\r\nConnection: Mx-Account\r\nMx-: 1\r\n'
    await client.send(`GET / HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`).replies(1)
    client.destroy()
    t.same(served[0]!.headers.flat, ['mx-account', 'root', 'mx-namespace', 'shop', 'mx-', '1'])
  })

  t.test(
    'serves a head of nearly 16 KiB, and responds with 431 and closes the connection for a larger one',
    { skip: http2 && 'in HTTP/2 the stream ends, not its connection' },
    async (t) => {
      const { port, served } = await openListener(t, create, ok)
      const toHead = (bytes: number, fieldBytes: number) => {
        let head = 'GET / HTTP/1.1\r\nHost: a.test\r\n'
        while (head.length + 2 < bytes) {
          const availableBytes = Math.min(fieldBytes, bytes - head.length - 2)
          head += `X-Pad: ${'p'.repeat(Math.max(1, availableBytes - 9))}\r\n`
        }
        return `${head}\r\n`
      }
      for (const fieldBytes of [300, 16 * 1024]) {
        const accepted = await new RawClient(port).send(toHead(16_000, fieldBytes)).settle(150)
        t.same(statusCodes(accepted.text), [200], `${fieldBytes} bytes per field`)
        const before = served.length
        const tooLarge = await new RawClient(port).send(toHead(17_500, fieldBytes)).settle(150)
        t.same(statusCodes(tooLarge.text), [431])
        t.ok(tooLarge.closed)
        t.equal(served.length, before)
      }
    },
  )

  t.test(
    'rejects a host with a byte above 0x7F',
    { skip: http2 && 'nghttp2 resets the stream' },
    async (t) => {
      const { port, served } = await openListener(t, create, ok)
      for (const host of ['a\xc3\xa9b', 'a\xe9b']) {
        const client = new RawClient(port)
        client.send(Buffer.from(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 'latin1'))
        t.match(await client.replies(1), [/^HTTP\/1\.1 400 /])
        client.destroy()
      }
      t.equal(served.length, 0)
    },
  )

  t.test(
    'responds to a malformed request with the error body of the gateway',
    { skip: http2 && 'in HTTP/2 the stream ends, not its connection' },
    async (t) => {
      const { port } = await openListener(t, create, ok)
      const client = new RawClient(port)
      await client.send('GET /a%00 HTTP/1.1\r\nHost: a.test\r\n\r\n').ended()
      t.match(client.text, /^HTTP\/1\.1 400 .*\r\ncontent-type: application\/json\r\n/is)
      const body = JSON.parse(client.text.slice(client.text.indexOf('\r\n\r\n') + 4))
      t.match(body, { Id: 'go.mx.api', Code: 400, Status: 'Bad Request', Detail: String })
    },
  )

  t.test(
    'uses the authority of an absolute target instead of Host (RFC 9112 §3.2.2)',
    {
      skip:
        (name === 'uws' && 'µWebSockets responds with 505 before the gateway runs') ||
        (http2 && 'HTTP/2 has no such target'),
    },
    async (t) => {
      const { port, served } = await openListener(t, create, ok)
      const client = new RawClient(port)
      for (const [i, target] of [
        'http://b.test:81/x?y',
        'HTTPS://b.test:81',
        'http://b.test:81?q',
      ].entries()) {
        await client.send(`GET ${target} HTTP/1.1\r\nHost: a.test\r\n\r\n`).replies(i + 1)
        t.equal(served[i]!.host, 'b.test:81')
      }
      client.destroy()
      t.same(
        served.map((x) => x.target),
        ['/x?y', '/', '/?q'],
      )
    },
  )

  t.test('serves an upgrade to a protocol other than WebSocket as a plain request', async (t) => {
    const { port, served } = await openListener(t, create, async (x) => {
      const body = await x.readBody()
      x.reply(200, body)
    })
    const client = new RawClient(port)
    const fields =
      'Host: a.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n'
    await client.send(`PUT / HTTP/1.1\r\n${fields}Content-Length: 5\r\n\r\nhello`).replies(1)
    t.match(client.text, /^HTTP\/1\.1 200 .*hello$/s)
    t.equal(served[0]!.upgrade, false)
    client.destroy()
  })
}
