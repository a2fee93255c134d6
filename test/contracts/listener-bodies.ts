import { createHash } from 'node:crypto'
import { request } from 'node:http'
import t from 'tap'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { HeaderList } from '../../core/http/headers.ts'
import type { Peer } from '../../core/request/incoming-request.ts'
import { openListener } from '../fixtures/open-listener.ts'
import { RawClient, statusCodes } from '../fixtures/raw-client.ts'
import type { ListenerSubject } from './listener-subject.ts'

const MIB = 1024 * 1024
/** Maximum size of kernel buffers and one chunk while one side stalls. */
const STALL_MAX_BYTES = 12 * MIB

const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest('hex')

/** Bytes that reveal lost, duplicated or reordered bytes. */
function createPattern(bytes: number): Buffer {
  const pattern = Buffer.alloc(bytes)
  for (let i = 0; i + 4 <= bytes; i += 4) pattern.writeUInt32LE(i, i)
  return pattern
}

/** Sends a body with node:http, and returns status and body of the response. */
function upload(
  port: number,
  body: Buffer,
  chunked: boolean,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = chunked ? {} : { 'content-length': body.length }
    const req = request({ port, host: '127.0.0.1', method: 'PUT', headers }, (res) => {
      let text = ''
      res.on('data', (chunk) => {
        text += chunk
      })
      res.on('end', () => resolve({ status: res.statusCode!, text }))
    })
    req.on('error', reject)
    for (let at = 0; at < body.length; at += 60_000) req.write(body.subarray(at, at + 60_000))
    req.end()
  })
}

/** Bodies in both directions. */
export function testListenerBodies({ create, http2 = false }: ListenerSubject): void {
  t.test('collects a body of any kind', async (t) => {
    const { port } = await openListener(t, create, async (x) => {
      const body = await x.readBody()
      x.reply(200, `${x.bodyLength} ${x.bytesIn} ${sha256(body)}`)
    })
    const body = createPattern(200_000)
    t.same(await upload(port, body, false), { status: 200, text: `200000 200000 ${sha256(body)}` })
    t.same(await upload(port, body, true), { status: 200, text: `-1 200000 ${sha256(body)}` })
    t.same(await upload(port, Buffer.alloc(0), false), { status: 200, text: `0 0 ${sha256('')}` })
  })

  t.test('reads a body sent byte by byte', async (t) => {
    const { port } = await openListener(t, create, async (x) => x.reply(200, await x.readBody()))
    const raw =
      'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n'
    const client = new RawClient(port)
    for (const byte of raw) {
      client.send(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const [reply] = await client.replies(1)
    client.destroy()
    t.ok(reply!.endsWith('\r\n\r\nhello!'))
  })

  t.test('streams 10 MiB to a consumer that pauses repeatedly', async (t) => {
    const { port } = await openListener(t, create, (x) => {
      const hash = createHash('sha256')
      x.pipeTo({
        onRequestBody: (chunk, last) => {
          hash.update(chunk)
          if (last) return x.reply(200, `${x.bytesIn} ${hash.digest('hex')}`)
          x.pauseBody()
          setImmediate(() => x.resumeBody())
        },
        onDrain: () => {},
        onAbort: () => {},
      })
    })
    const body = createPattern(10 * MIB)
    for (const chunked of [false, true]) {
      t.same(await upload(port, body, chunked), {
        status: 200,
        text: `${body.length} ${sha256(body)}`,
      })
    }
  })

  t.test('stops the sender while the consumer is paused and loses nothing', async (t) => {
    let x: Exchange | undefined
    const { port } = await openListener(t, create, (exchange) => {
      x = exchange
    })
    const body = createPattern(40 * MIB)
    const reply = upload(port, body, false)
    const stalledAt = await waitUntilStable(() => x?.bytesIn ?? -1)
    t.ok(stalledAt < STALL_MAX_BYTES, `accepted ${stalledAt} bytes`)
    const hash = createHash('sha256')
    x!.pipeTo({
      onRequestBody: (chunk, last) => {
        hash.update(chunk)
        if (last) x!.reply(200, hash.digest('hex'))
      },
      onDrain: () => {},
      onAbort: () => {},
    })
    t.same(await reply, { status: 200, text: sha256(body) })
  })

  for (const length of ['known', 'unknown']) {
    t.test(
      `delivers 20 MiB of ${length} length exactly to a reader that stalls at first`,
      async (t) => {
        const body = createPattern(20 * MIB)
        let x: Exchange | undefined
        const { port } = await openListener(t, create, (exchange) => {
          x = exchange
          let at = 0
          const send = () => {
            while (at < body.length) {
              const chunk = Buffer.from(body.subarray(at, at + 50_000))
              at += chunk.length
              const isAccepted = x!.write(chunk)
              // The listener must have copied its buffered bytes.
              chunk.fill(0)
              if (!isAccepted) return
            }
            x!.end()
          }
          x.pipeTo({ onRequestBody: () => {}, onDrain: send, onAbort: () => {} })
          x.start(200, new HeaderList(), length === 'known' ? body.length : -1)
          send()
        })
        await new Promise<void>((resolve, reject) => {
          const req = request({ port, host: '127.0.0.1' }, (res) => {
            const hash = createHash('sha256')
            waitUntilStable(() => x?.bytesOut ?? -1).then((stalledAt) => {
              t.ok(stalledAt < STALL_MAX_BYTES, `produced ${stalledAt} bytes`)
              res.on('data', (chunk) => hash.update(chunk))
              res.on('end', () => {
                t.equal(hash.digest('hex'), sha256(body))
                t.equal(res.complete, true)
                resolve()
              })
            }, reject)
          })
          req.on('error', reject)
          req.end()
        })
        t.ok(x!.finished)
        t.equal(x!.aborted, false)
        t.equal(x!.bytesOut, body.length)
      },
    )
  }

  t.test(
    'responds with 413 to a body of unknown length beyond bodyLimit and closes the connection',
    async (t) => {
      let aborted = 0
      const { port, served } = await openListener(t, create, (x) => {
        x.bodyLimit = 1000
        x.pipeTo({ onRequestBody: () => {}, onDrain: () => {}, onAbort: () => aborted++ })
      })
      const client = new RawClient(port)
      const head = 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n'
      await client
        .send(`${head}3e8\r\n${'a'.repeat(1000)}\r\n3e8\r\n${'a'.repeat(1000)}\r\n`)
        .ended()
      client.destroy()
      t.same(statusCodes(client.text), [413])
      t.match(client.text, /"Code":413/)
      t.equal(aborted, 1)
      t.equal(served.length, 1)
    },
  )

  t.test(
    'closes the connection after a response before the end of the body, without serving later requests',
    async (t) => {
      const { port, served } = await openListener(t, create, (x) => x.reply(401, 'who are you?'))
      const client = new RawClient(port)
      client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\n')
      await client.waitUntil(({ text }) => text.includes('who are you?'))
      client.send(`${'a'.repeat(100)}GET /second HTTP/1.1\r\nHost: a.test\r\n\r\n`)
      await client.ended()
      t.same(statusCodes(client.text), [401])
      t.equal(served.length, 1)
    },
  )

  t.test(
    'responds with 413 to a Content-Length above the limit, even if the body arrives with the head',
    { skip: http2 && 'in HTTP/2 the stream ends, not its connection' },
    async (t) => {
      const { port, served } = await openListener(t, create, (x) => {
        x.bodyLimit = 3
        x.fail(new GatewayError('', 413, 'too long'))
      })
      const client = new RawClient(port)
      const head = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\n'
      await client.send(`${head}four`).ended()
      t.same(statusCodes(client.text), [413])
      t.match(client.text, /too long/)
      t.equal(served.length, 1)
    },
  )

  t.test(
    'closes the connection after a response during the body, before reading later bytes',
    { skip: http2 && 'HTTP/2 streams carry a single request' },
    async (t) => {
      for (const bodyLimit of [2, 1000]) {
        const { port, served } = await openListener(t, create, async (x) => {
          x.bodyLimit = bodyLimit
          x.reply(200, await x.readBody())
        })
        const client = new RawClient(port)
        client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n')
        while (served.length === 0) await new Promise((resolve) => setImmediate(resolve))
        const smuggled = 'XXGET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n'
        await client.send(`3\r\nabc\r\n0\r\n${smuggled}`).ended()
        t.equal(served.length, 1)
      }
    },
  )

  t.test('enforces a limit that is set after the body has arrived', async (t) => {
    const { port } = await openListener(t, create, async (x) => {
      while (x.bytesIn < 10) await new Promise((resolve) => setImmediate(resolve))
      x.bodyLimit = 5
      x.reply(200, await x.readBody())
    })
    const client = new RawClient(port)
    const head = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n'
    await client.send(`${head}0123456789`).waitUntil(({ text }) => text.includes('\r\n\r\n'))
    client.destroy()
    t.same(statusCodes(client.text), [413])
  })

  t.test('sends 100 Continue to a client that waits for it', async (t) => {
    const { port } = await openListener(t, create, async (x) => x.reply(200, await x.readBody()))
    const client = new RawClient(port)
    client.send(
      'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n',
    )
    await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
    t.match(client.text, /^HTTP\/1\.1 100 Continue\r\n/)
    await client.send('hello').waitUntil(({ text }) => text.endsWith('hello'))
    client.destroy()
    t.same(statusCodes(client.text), [100, 200])
  })

  t.test('ends the exchange when the client disconnects during the body', async (t) => {
    const rest = defer()
    const peer: Peer = {
      onRequestBody: () => {},
      onDrain: () => {},
      onAbort: () => rest.resolve(true),
    }
    const { port, served, gateway } = await openListener(t, create, (x) => x.pipeTo(peer))
    const client = new RawClient(port)
    client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nabc')
    await waitUntilStable(() => served[0]?.bytesIn ?? -1)
    client.destroy()
    await rest.promise
    t.equal(served[0]!.aborted, true)
    t.equal(gateway.inFlight, 0)
  })
}

function defer(): { promise: Promise<unknown>; resolve: (value: unknown) => void } {
  let resolve: (value: unknown) => void = () => {}
  const promise = new Promise((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** The value of `read` once it is not negative and stable. */
async function waitUntilStable(read: () => number): Promise<number> {
  let before = -1
  for (let unchangedChecks = 0; unchangedChecks < 10; ) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const now = read()
    unchangedChecks = now >= 0 && now === before ? unchangedChecks + 1 : 0
    before = now
  }
  return before
}
