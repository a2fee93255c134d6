import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { type Browser, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { createServiceLog } from '../../sdk/log/service-log.ts'
import { Service } from '../../sdk/service/service.ts'
import { openApi } from '../fixtures/api.ts'
import { type BrowserPipe, openBrowserPipe } from '../fixtures/browser-pipe.ts'
import { CHROMIUM_FLAGS } from '../fixtures/chromium.ts'
import { createGreeter } from '../fixtures/greeter.ts'
import { readVectors } from '../fixtures/rpc.ts'
import { skipUnless } from '../fixtures/servers.ts'

const SERVICE = 'go.mx.api.browser'
/** docs/protocol.md §2.5 */
const WINDOW_BYTES = 262_144
const SILENT = createServiceLog({ service: 'greeter', write: () => {} })
const JSON_TYPE = { 'content-type': 'application/json' }

let browser: Browser | undefined

/** A new page, with a relay in front of it. */
async function openPage(t: Test): Promise<{ page: Page; pipe: BrowserPipe }> {
  const pipe = await openBrowserPipe(t)
  const page = await browser!.newPage()
  t.teardown(() => page.close())
  page.setDefaultTimeout(20_000)
  page.on('pageerror', (error) => t.fail(`the page failed: ${error.message}`))
  await page.goto(`http://127.0.0.1:${pipe.port}/browser-service.html`)
  return { page, pipe }
}

/** The service that a page provides behind a gateway. */
class BrowserService {
  readonly page: Page
  readonly pipe: BrowserPipe
  readonly #host: string

  constructor(page: Page, pipe: BrowserPipe, port: number) {
    this.page = page
    this.pipe = pipe
    this.#host = `127.0.0.1:${port}`
  }

  static async open(t: Test): Promise<BrowserService> {
    const { page, pipe } = await openPage(t)
    const api = await openApi(t, {
      MX_HANDLER: 'rpc',
      MX_ACCESS_LOG: 'off',
      MX_BACKEND: `browser=mx://127.0.0.1:${pipe.port}`,
    })
    return new BrowserService(page, pipe, api.port)
  }

  fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(`http://${this.#host}${path}`, init)
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const init = { method: 'POST', headers: { ...JSON_TYPE, ...headers } }
    return this.fetch(path, { ...init, body: JSON.stringify(body) })
  }

  /** A request whose response is read on demand. */
  async start(path: string): Promise<IncomingMessage> {
    const client = request(`http://${this.#host}${path}`, { agent: false })
    client.end()
    const [reply] = await once(client, 'response')
    return reply as IncomingMessage
  }

  socket(t: Test, path: string): SocketClient {
    const client = new SocketClient(`ws://${this.#host}${path}`)
    t.teardown(() => client.socket.terminate())
    return client
  }

  /** A value of the last call of an endpoint in the page. */
  findReceived(endpoint: string, expression: string): Promise<unknown> {
    return this.page.evaluate(lastCall(endpoint, expression))
  }

  /** Waits until the page has this value. */
  async waitUntil(endpoint: string, expression: string): Promise<void> {
    await this.page.waitForFunction(lastCall(endpoint, expression))
  }
}

function lastCall(endpoint: string, expression: string): string {
  return `(() => {
    const call = calls.findLast(({ endpoint }) => endpoint === 'Browser.${endpoint}')
    return call !== undefined && (${expression})
  })()`
}

/** A WebSocket of a client, and the messages received. */
class SocketClient {
  readonly socket: WebSocket
  readonly messages: unknown[] = []
  readonly #open: Promise<unknown>
  /** Close code. */
  readonly closed: Promise<number>

  constructor(url: string) {
    this.socket = new WebSocket(url)
    this.#open = once(this.socket, 'open')
    this.closed = once(this.socket, 'close').then(([code]) => code as number)
    this.socket.on('message', (data) => this.messages.push(JSON.parse(String(data))))
  }

  async send(...messages: string[]): Promise<void> {
    await this.#open
    for (const message of messages) this.socket.send(message)
  }

  async waitUntil(count: number): Promise<void> {
    while (this.messages.length < count) await once(this.socket, 'message')
  }
}

t.test(
  'a service in a page implements the WebSocket transport as specified in docs/protocol.md',
  async (t) => {
    const program = skipUnless(t, 'chromium-headless-shell')
    if (program === undefined) return
    browser = await chromium.launch({ executablePath: program, args: [...CHROMIUM_FLAGS] })
    t.teardown(() => browser!.close())

    t.test('encodes and decodes every test vector of the protocol', async (t) => {
      const { page } = await openPage(t)
      const vectors = readVectors()
      const results = (await page.evaluate(
        `import('/browser-vectors.js').then((m) => m.checkVectors(${JSON.stringify(vectors)}))`,
      )) as { kind: string; name: string; expected: unknown; actual: unknown }[]
      for (const { kind, name, expected, actual } of results)
        t.strictSame(actual, expected, `${kind}: ${name}`)
      const { messages, invalid, ignored, metadata, errors } = vectors
      const lists = [messages, messages, invalid, ignored, metadata, errors]
      t.equal(results.length, lists.flat().length)
    })

    t.test('receives calls through the gateway', async (t) => {
      const service = await BrowserService.open(t)
      const reply = await service.fetch('/browser/hello?name=John')
      t.equal(reply.status, 200)
      t.equal(reply.headers.get('content-type'), 'application/json')
      t.equal(reply.headers.get('x-served-by'), 'a page', 'metadata of results is sent as headers')
      t.strictSame(await reply.json(), { message: 'Hello John' })

      const posted = await service.post('/browser/hello', { name: 'Jörg 😀' })
      t.strictSame(await posted.json(), { message: 'Hello Jörg 😀' })

      const body = { service: SERVICE, method: 'Browser.Hello', request: { name: 'Ann' } }
      const explicit = await service.post('/rpc', body)
      t.strictSame(await explicit.json(), { message: 'Hello Ann' })

      const empty = await service.fetch('/browser/nothing')
      t.equal(empty.status, 200)
      t.strictSame(await empty.json(), {})

      const bytes = Uint8Array.of(0x08, 0x96, 0x01, 0x00, 0xff)
      const headers = { 'content-type': 'application/protobuf' }
      const echoed = await service.fetch('/browser/bytes', { method: 'POST', headers, body: bytes })
      t.equal(echoed.headers.get('content-type'), 'application/protobuf')
      t.strictSame(
        new Uint8Array(await echoed.arrayBuffer()),
        bytes,
        'protobuf is passed through unchanged',
      )

      const [{ request, code }, ...others] = service.pipe.callers as [BrowserPipe['callers'][0]]
      t.strictSame(others, [], 'all calls use one connection')
      t.equal(code, undefined, 'the connection is open')
      t.equal(request.url, '/.mx/rpc')
      t.equal(request.headers['sec-websocket-protocol'], 'mx.rpc.1')
      t.notOk('sec-websocket-extensions' in request.headers)
    })

    t.test('receives request headers as metadata, and the remaining time', async (t) => {
      const service = await BrowserService.open(t)
      const tenant = Buffer.from('Jörg').toString('latin1')
      const headers = { 'X-Tenant': tenant, 'Mx-Account': '{"id":"admin"}', Timeout: '7' }
      const reply = await service.post('/browser/context', {}, headers)
      const context = (await reply.json()) as { metadata: string[]; timeoutMs: number }
      t.match(context, {
        service: SERVICE,
        endpoint: 'Browser.Context',
        acceptsStream: true,
        sendsMore: false,
      })
      t.ok(context.timeoutMs > 6000 && context.timeoutMs <= 7000, `${context.timeoutMs} ms`)
      const { metadata } = context
      const find = (name: string) => metadata[metadata.indexOf(name) + 1]
      t.equal(find('x-tenant'), tenant, 'one character per byte')
      t.equal(find('content-type'), 'application/json')
      t.notOk(metadata.includes('mx-account'), 'clients cannot set their account')
      t.notOk(metadata.includes('connection'))
    })

    t.test('returns errors', async (t) => {
      const service = await BrowserService.open(t)
      const rejected = await service.post('/browser/refuse', { name: 'Jörg' })
      t.equal(rejected.status, 409)
      t.strictSame(await rejected.json(), {
        Id: SERVICE,
        Code: 409,
        Detail: 'no, Jörg',
        Status: 'Conflict',
      })
      t.equal((await service.fetch('/browser/absent')).status, 404)
      const call = { service: SERVICE, method: 'Browser.Count', request: { to: 1 } }
      const stream = await service.post('/rpc', call)
      t.equal(stream.status, 400, 'a stream for a caller that does not accept one')
    })

    t.test('returns streams as NDJSON, server-sent events and WebSocket messages', async (t) => {
      const service = await BrowserService.open(t)
      const lines = await service.fetch('/browser/count?to=3')
      t.equal(lines.headers.get('content-type'), 'application/x-ndjson')
      t.equal(lines.headers.get('x-served-by'), 'a page')
      t.equal(await lines.text(), '{"n":1}\n{"n":2}\n{"n":3}\n')

      const headers = { accept: 'text/event-stream' }
      const events = await service.fetch('/browser/count?to=2', { headers })
      t.equal(events.headers.get('content-type'), 'text/event-stream')
      const text = await events.text()
      t.equal(text, ':\n\ndata: {"n":1}\n\ndata: {"n":2}\n\nevent: end\ndata: {}\n\n')

      const empty = await service.fetch('/browser/count?to=0')
      t.equal(await empty.text(), '', 'an empty stream')

      const client = service.socket(t, '/browser/count?to=3')
      t.equal(await client.closed, 1000)
      t.strictSame(client.messages, [{ n: 1 }, { n: 2 }, { n: 3 }])

      const pendingSocket = service.socket(t, '/browser/count')
      await pendingSocket.send('{"to":2}')
      t.equal(await pendingSocket.closed, 1000)
      t.strictSame(pendingSocket.messages, [{ n: 1 }, { n: 2 }], 'the request is the first message')

      const many = await service.fetch('/browser/count?to=20000')
      const all = (await many.text()).trimEnd().split('\n')
      t.equal(all.length, 20_000, 'more than the window')
      t.equal(all.at(-1), '{"n":20000}')
    })

    t.test('can fail during a stream', async (t) => {
      const service = await BrowserService.open(t)
      const error = { Id: SERVICE, Code: 409, Detail: 'enough', Status: 'Conflict' }
      const lines = await service.fetch('/browser/break')
      t.equal(await lines.text(), `{"n":1}\n${JSON.stringify({ error })}\n`)
      const client = service.socket(t, '/browser/break')
      t.equal(await client.closed, 1011)
      t.strictSame(client.messages, [{ n: 1 }, error])
    })

    t.test('receives a client stream over a WebSocket and responds concurrently', async (t) => {
      const service = await BrowserService.open(t)
      const echo = service.socket(t, '/browser/echo')
      for (let n = 1; n <= 3; n++) {
        await echo.send(`{"n":${n}}`)
        await echo.waitUntil(n)
      }
      await echo.send('')
      t.equal(await echo.closed, 1000, 'an empty message ends the requests')
      t.strictSame(echo.messages, [{ n: 1 }, { n: 2 }, { n: 3 }])

      const sum = service.socket(t, '/browser/sum')
      const numbers = Array.from({ length: 10_000 }, (_, n) => `{"n":${n}}`)
      await sum.send(...numbers, '')
      t.equal(await sum.closed, 1000)
      t.strictSame(sum.messages, [{ sum: 49_995_000 }], 'more bodies than the window')
    })

    t.test('a slow reader applies back-pressure to its stream only', async (t) => {
      const service = await BrowserService.open(t)
      const lines = 2000
      const reply = await service.start(`/browser/flood?lines=${lines}`)
      const sent = async () => (await service.findReceived('Flood', 'call.sentBytes')) as number
      let before = -1
      let now = await sent()
      // Credit in transit arrives before these calls.
      while (now !== before || now < WINDOW_BYTES) {
        for (let i = 0; i < 10; i++) {
          const other = await service.fetch('/browser/hello?name=meanwhile')
          t.strictSame(await other.json(), { message: 'Hello meanwhile' })
        }
        before = now
        now = await sent()
      }
      t.equal(await service.findReceived('Flood', 'call.hasEnded'), false)
      t.ok(
        ((await service.findReceived('Flood', 'call.sendWindow')) as number) <= 0,
        'the window is used up',
      )
      let bytes = 0
      let endCount = 0
      for await (const chunk of reply) {
        bytes += chunk.length
        for (const byte of chunk) if (byte === 0x0a) endCount++
      }
      t.equal(endCount, lines, 'everything arrives once the caller reads')
      t.ok(now < (bytes * 3) / 4, `${now} of ${bytes} bytes were sent before that`)
    })

    t.test('applies back-pressure to a fast sender in its stream only', async (t) => {
      const service = await BrowserService.open(t)
      const body = JSON.stringify({ text: 'x'.repeat(60_000) })
      const count = 70
      const client = service.socket(t, '/browser/hold')
      await client.send(...new Array<string>(count).fill(body), '')
      await service.waitUntil('Hold', 'call.receiveWindow <= 0')
      for (let i = 0; i < 10; i++)
        t.equal((await service.fetch('/browser/hello?name=a')).status, 200)
      const received = (await service.findReceived('Hold', 'call.receivedBytes')) as number
      t.ok(received < WINDOW_BYTES + body.length, `${received} bytes: the window and one body`)
      await service.page.evaluate('release()')
      t.equal(await client.closed, 1000)
      t.strictSame(client.messages, [{ bytes: count * body.length }])
    })

    t.test('is notified when the client disconnects', async (t) => {
      const service = await BrowserService.open(t)
      const controller = new AbortController()
      const hanging = service.fetch('/browser/hang', { method: 'POST', signal: controller.signal })
      await service.waitUntil('Hang', 'call.hasEnded === false')
      controller.abort()
      await t.rejects(hanging, { name: 'AbortError' })
      await service.waitUntil('Hang', "call.signal.reason === 'cancelled'")

      const client = service.socket(t, '/browser/echo')
      await client.send('{"n":1}')
      await client.waitUntil(1)
      client.socket.close()
      await service.waitUntil('Echo', "call.signal.reason === 'cancelled'")
      t.equal((await service.fetch('/browser/hello?name=a')).status, 200)
      t.equal(service.pipe.callers.length, 1, 'on the same connection')
    })

    t.test('receives the deadline of the client', async (t) => {
      const service = await BrowserService.open(t)
      const reply = await service.post('/browser/hang', {}, { timeout: '0.25' })
      t.equal(reply.status, 408)
      t.match(await reply.json(), { Id: SERVICE, Code: 408, Status: 'Request Timeout' })
      await service.waitUntil('Hang', 'call.signal.aborted')
      t.match(
        String(await service.findReceived('Hang', 'call.signal.reason')),
        /^(?:cancelled|deadline)$/,
      )
      const timeoutMs = (await service.findReceived('Hang', 'call.timeoutMs')) as number
      t.ok(timeoutMs > 0 && timeoutMs <= 250, `${timeoutMs} ms`)
      t.equal(
        (await service.fetch('/browser/hello?name=a')).status,
        200,
        'the connection stays open',
      )
    })

    t.test(
      'GOAWAY: completes running calls and receives new ones over another connection',
      async (t) => {
        const service = await BrowserService.open(t)
        const { callers } = service.pipe
        const echo = service.socket(t, '/browser/echo')
        await echo.send('{"n":1}')
        await echo.waitUntil(1)
        t.strictSame(await (await service.fetch('/browser/goAway')).json(), { left: true })
        t.equal((await service.fetch('/browser/hello?name=a')).status, 200)
        t.equal(callers.length, 2)
        t.equal(await service.findReceived('Hello', 'call.connection === connections[1]'), true)

        await echo.send('{"n":2}')
        await echo.waitUntil(2)
        t.equal(callers[0]!.code, undefined, 'open while it has a call in flight')
        const closed = once(callers[0]!.socket, 'close')
        await echo.send('')
        t.equal(await echo.closed, 1000)
        await closed
        t.ok([1000, 1001].includes(callers[0]!.code!), 'closed by the service, or the gateway')
        t.equal((await service.fetch('/browser/hello?name=a')).status, 200)
        t.equal(callers.length, 2)
      },
    )

    t.test('rejects calls, which are sent again regardless of method', async (t) => {
      const service = await BrowserService.open(t)
      const reply = await service.post('/browser/rejectFirst', {})
      t.strictSame(await reply.json(), { served: true })
      const [first, second] = (await service.page.evaluate(
        `calls.map(({ connection }) => connections.indexOf(connection))`,
      )) as number[]
      t.strictSame([first, second], [0, 1])
    })

    t.test('a protocol violation closes the connection after the frames before it', async (t) => {
      const service = await BrowserService.open(t)
      const reply = await service.post('/browser/violate', {})
      t.equal(reply.status, 200)
      await service.page.waitForFunction('connections[0].closedBy === 1002')
      t.equal(service.pipe.callers[0]!.code, 1002)
      t.equal(
        (await service.fetch('/browser/hello?name=a')).status,
        200,
        'the next connection is used',
      )
      t.equal(service.pipe.callers.length, 2)
    })

    t.test('a crash during calls causes 502', async (t) => {
      const service = await BrowserService.open(t)
      const hanging = service.post('/browser/hang', {})
      await service.waitUntil('Hang', 'true')
      await service.page.close()
      const reply = await hanging
      t.equal(reply.status, 502)
      t.match(await reply.json(), { Id: SERVICE, Code: 502, Status: 'Bad Gateway' })
    })

    t.test('a page as client calls a service directly', async (t) => {
      const { page, pipe } = await openPage(t)
      const open = async (origins: string[]): Promise<Service> => {
        const service = new Service({ name: 'greeter', log: SILENT, origins })
        service.handle('Greeter', createGreeter().Greeter)
        t.teardown(() => service.stop({ timeoutMs: 1 }))
        await service.start()
        return service
      }
      const callGreeter = ({ address }: Service): Promise<unknown> =>
        page.evaluate(
          `import('/browser-caller.js').then((m) => m.callGreeter('ws://${address}/.mx/rpc'))`,
        )
      const closed = await open([])
      await t.rejects(callGreeter(closed), /no connection/, 'pages of unknown origins are rejected')

      const service = await open([`http://127.0.0.1:${pipe.port}`])
      const results = (await callGreeter(service)) as { unread: number }
      const { unread } = results
      t.ok(unread >= WINDOW_BYTES && unread < WINDOW_BYTES + 2000, `${unread} unread bytes`)
      t.match(results, {
        protocol: 'mx.rpc.1',
        extensions: '',
        hello: { message: 'Hello Jörg' },
        fail: { id: 'greeter.own', code: 409, detail: 'as requested' },
        invalid: 400,
        withoutStream: 400,
        counted: [{ n: 1 }, { n: 2 }, { n: 3 }],
        many: [20_000, { n: 20_000 }],
        joined: 10_000,
        chat: [{ message: 'Hello Ann' }, { message: 'Hello Bob' }],
        chatDone: true,
        last: { message: 'Hello last' },
      })
      // Time to send GOAWAY after the bytes pending for the page; the call in flight never ends.
      await service.stop({ timeoutMs: 500 })
      const ended = await page.evaluate('ended')
      t.strictSame(ended, { code: 1001, isGoingAway: true, lost: 'lost' })
    })
  },
)
