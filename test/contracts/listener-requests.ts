import { networkInterfaces } from 'node:os'
import t from 'tap'
import type { Exchange } from '../../core/exchange.ts'
import { parseListenAddress } from '../../sdk/service/listen-address.ts'
import { openListener } from '../fixtures/open-listener.ts'
import { RawClient, splitReplies, statusCodes } from '../fixtures/raw-client.ts'
import type { ListenerSubject } from './listener.ts'

const ok = (x: Exchange) => x.reply(200, 'ok')

/** How requests arrive at the chain. */
export function testListenerRequests({ create, name, http2 = false }: ListenerSubject): void {
  t.test('method, path, query and host arrive as they were sent', async (t) => {
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

  t.test('a method in small letters is not the one in capitals', async (t) => {
    const { port, served } = await openListener(t, create, ok)
    for (const method of ['get', 'Get', 'post', 'GETS']) {
      const client = new RawClient(port)
      await client.send(`${method} / HTTP/1.1\r\nHost: a.test\r\n\r\n`).replies(1)
      client.destroy()
      // Refused, or passed on as it came.
      t.strictSame(
        served.splice(0).filter((x) => x.method !== method),
        [],
        method,
      )
    }
  })

  t.test('the exchange says who the client is and what it announced', async (t) => {
    let seen: unknown
    const { port } = await openListener(t, create, (x) => {
      seen = [x.remoteAddress, x.clientAddress, x.secure, x.bodyLength, x.upgrade]
      x.reply(200)
    })
    const client = new RawClient(port)
    await client.send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n').replies(1)
    t.same(seen, ['127.0.0.1', '127.0.0.1', false, 0, false])
    await client.send('PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc').replies(2)
    t.same(seen, ['127.0.0.1', '127.0.0.1', false, 3, false])
    client.destroy()
  })

  t.test('each client keeps its own address, whoever comes and goes beside it', async (t) => {
    const { port } = await openListener(t, create, (x) => x.reply(200, x.remoteAddress))
    const ask = async (client: RawClient): Promise<string> => {
      const before = splitReplies(client.text).length
      const replies = await client
        .send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n')
        .replies(before + 1)
      return replies.at(-1)!.split('\r\n\r\n')[1]!
    }
    const first = new RawClient(port)
    t.equal(await ask(first), '127.0.0.1')
    const second = new RawClient(port, undefined, '127.0.0.2')
    t.equal(await ask(second), '127.0.0.2')
    t.equal(await ask(first), '127.0.0.1')
    second.destroy()
    t.equal(await ask(first), '127.0.0.1')
    const third = new RawClient(port, undefined, '127.0.0.3')
    t.equal(await ask(third), '127.0.0.3')
    first.destroy()
    t.equal(await ask(third), '127.0.0.3')
    third.destroy()
  })

  t.test('a bare port serves IPv4 and IPv6, and an IPv4 client has an IPv4 address', async (t) => {
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
    'header fields keep order and repeats, in lower case',
    { skip: http2 && 'node:http2 sends fields of one name together' },
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

  // µWebSockets decodes values as UTF-8, and takes such bytes at either end of a value for blanks.
  const values = name === 'uws' ? ['gr\xc3\xbcn'] : ['gr\xc3\xbcn', 'caf\xe9', '\xc3\xbc \xff']
  for (const value of values) {
    t.test(`the field value ${JSON.stringify(value)} stays the bytes it is`, async (t) => {
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

  // README.md, "Limits": the library has lost them before anybody could look.
  const lost = name === 'uws' ? ['zo\xc3\xab', '\xc3\xabzo', 'zo\xeb', '\xff zo \xff'] : []
  for (const value of lost) {
    t.test(`limit: of the field value ${JSON.stringify(value)} the ends are lost`, async (t) => {
      const { port, served } = await openListener(t, create, ok)
      const client = new RawClient(port)
      await client.send(`GET / HTTP/1.1\r\nHost: a.test\r\nX-A: ${value}\r\n\r\n`).replies(1)
      client.destroy()
      t.equal(served[0]!.headers.get('x-a'), 'zo')
    })
  }

  t.test(
    'hop-by-hop fields end here, and those that Connection names (RFC 9110 §7.6.1)',
    { skip: http2 && 'HTTP/2 has no such fields' },
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
        .until(({ text }) => statusCodes(text).includes(200))
      client.destroy()
      t.same(served[0]!.headers.flat, ['x-keep', '1'])
    },
  )

  t.test(
    'Connection cannot take away fields that say who the client is or where the message ends',
    { skip: http2 && 'HTTP/2 has no such field' },
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
    'fields only the gateway may set, and names that backends confuse with them, are dropped',
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

  t.test('a service behind the gateway gets the fields only the gateway may set', async (t) => {
    const { port, served } = await openListener(t, create, ok, { internalFields: true })
    const client = new RawClient(port)
    const fields =
      'Mx-Account: root\r\nMx-Namespace: shop\r\nMx_Account: x\r\nConnection: Mx-Account\r\nMx-: 1\r\n'
    await client.send(`GET / HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`).replies(1)
    client.destroy()
    t.same(served[0]!.headers.flat, ['mx-account', 'root', 'mx-namespace', 'shop', 'mx-', '1'])
  })

  t.test(
    'a head of nearly 16 KiB is served, one above is answered 431 and closed',
    { skip: http2 && 'in HTTP/2 the stream ends, not its connection' },
    async (t) => {
      const { port, served } = await openListener(t, create, ok)
      const toHead = (bytes: number, fieldBytes: number) => {
        let head = 'GET / HTTP/1.1\r\nHost: a.test\r\n'
        while (head.length + 2 < bytes) {
          const room = Math.min(fieldBytes, bytes - head.length - 2)
          head += `X-Pad: ${'p'.repeat(Math.max(1, room - 9))}\r\n`
        }
        return `${head}\r\n`
      }
      for (const fieldBytes of [300, 16 * 1024]) {
        const fits = await new RawClient(port).send(toHead(16_000, fieldBytes)).settle(150)
        t.same(statusCodes(fits.text), [200], `${fieldBytes} bytes a field`)
        const before = served.length
        const over = await new RawClient(port).send(toHead(17_500, fieldBytes)).settle(150)
        t.same(statusCodes(over.text), [431])
        t.ok(over.closed)
        t.equal(served.length, before)
      }
    },
  )

  t.test(
    'a host with a byte above 0x7F in it is refused',
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
    'a malformed request is answered with the error body of the gateway',
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
    'an absolute target is served, its authority in place of Host (RFC 9112 §3.2.2)',
    {
      skip:
        (name === 'uws' && 'µWebSockets answers 505 before any code of ours runs') ||
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

  t.test('an upgrade other than to WebSocket is served as a plain request', async (t) => {
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
