import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { ROOT } from '../../scripts/root.ts'
import { openApi } from '../fixtures/api.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'
import { skipUnless } from '../fixtures/servers.ts'

const SERVICE = 'go.mx.api.helloworld'
const JSON_TYPE = { 'content-type': 'application/json' }

/** `examples/python-service` in a separate process behind a gateway. */
class PythonService {
  readonly origin: string
  /** Address of the service itself. */
  readonly port: number
  readonly #process: ChildProcess

  constructor(origin: string, process: ChildProcess, port = 0) {
    this.origin = origin
    this.port = port
    this.#process = process
  }

  static async open(t: Test, python: string): Promise<PythonService> {
    const args = ['-W', 'error', join(ROOT, 'examples/python-service/main.py'), '0']
    const child = spawn(python, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const service = new PythonService('', child)
    t.teardown(() => service.kill())
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    const port = /:(\d+)$/.exec(line)![1]
    const { port: gateway } = await openApi(t, {
      MX_HANDLER: 'rpc',
      MX_ACCESS_LOG: 'off',
      MX_BACKEND: `helloworld=127.0.0.1:${port}`,
    })
    return new PythonService(`http://127.0.0.1:${gateway}`, child, Number(port))
  }

  fetch(path: string, init?: RequestInit): Promise<Response> {
    return fetch(`${this.origin}${path}`, init)
  }

  post(path: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
    return this.fetch(path, { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body })
  }

  /** The lines of a stream as they arrive. */
  async stream(path: string): Promise<{ reply: IncomingMessage; lines: AsyncIterator<string> }> {
    const [reply] = (await once(get(`${this.origin}${path}`), 'response')) as [IncomingMessage]
    return { reply, lines: createInterface(reply)[Symbol.asyncIterator]() }
  }

  /** Number of connections of the service, with one thread each in addition to the main thread. */
  countConnections(): number {
    return readdirSync(`/proc/${this.#process.pid}/task`).length - 1
  }

  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#process
    if (exitCode !== null || signalCode !== null) return
    const exited = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exited
  }
}

t.test('a service in Python with the standard library only, behind the gateway', async (t) => {
  const python = skipUnless(t, 'python3')
  if (python === undefined) return

  t.test('responds to GET, POST and /rpc', async (t) => {
    const service = await PythonService.open(t, python)
    const reply = await service.fetch('/helloworld/call?name=John')
    t.equal(reply.status, 200)
    t.equal(reply.headers.get('content-type'), 'application/json')
    t.strictSame(await reply.json(), { message: 'Hello John' })

    const posted = await service.post('/helloworld/call', '{"name":"Jörg 😀"}')
    t.strictSame(await posted.json(), { message: 'Hello Jörg 😀' })

    const form = new URLSearchParams({ name: 'Ann' })
    const fromForm = await service.fetch('/helloworld/call', { method: 'POST', body: form })
    t.strictSame(await fromForm.json(), { message: 'Hello Ann' })

    const name = 'x'.repeat(1_000_000)
    const long = await service.post('/helloworld/call', JSON.stringify({ name }))
    t.strictSame(await long.json(), { message: `Hello ${name}` })

    const call = { service: SERVICE, method: 'Helloworld.Call', request: { name: 'Bob' } }
    const explicit = await service.post('/rpc', JSON.stringify(call))
    t.strictSame(await explicit.json(), { message: 'Hello Bob' })
    t.equal(service.countConnections(), 1, 'over a single connection')
  })

  t.test('accepts calls of pages only through the gateway', async (t) => {
    const service = await PythonService.open(t, python)
    const headers = { origin: 'https://app.example.com' }
    const reply = await service.post('/helloworld/call', '{"name":"Ann"}', headers)
    t.equal(reply.status, 200)
    const direct = await fetch(`http://127.0.0.1:${service.port}`, {
      method: 'POST',
      body: '{"name":"Ann"}',
      headers: { ...headers, 'mx-service': 'helloworld', 'mx-endpoint': 'Helloworld.Call' },
    })
    t.equal(direct.status, 403)
    t.match(await direct.json(), { Code: 403, Detail: 'calls from web pages are not allowed' })
  })

  t.test('returns errors', async (t) => {
    const service = await PythonService.open(t, python)
    const malformed = await service.post('/helloworld/call', '{"name":1}')
    t.equal(malformed.status, 400)
    t.strictSame(await malformed.json(), {
      Id: 'helloworld',
      Code: 400,
      Detail: 'name must be a string',
      Status: 'Bad Request',
    })
    t.equal((await service.post('/helloworld/call', '{"name":')).status, 400)
    const missing = await service.fetch('/helloworld/absent')
    t.equal(missing.status, 404)
    t.match(await missing.json(), { Detail: `endpoint not found: ${SERVICE}.Helloworld.Absent` })
    t.equal((await service.fetch('/unknown/call')).status, 404)
    const call = { service: SERVICE, method: 'Helloworld.Stream', request: { name: 'John' } }
    const stream = await service.post('/rpc', JSON.stringify(call))
    t.equal(stream.status, 400, 'a stream for a caller that does not accept one')
  })

  t.test('streams as NDJSON and server-sent events', async (t) => {
    const service = await PythonService.open(t, python)
    const greetings = [1, 2, 3].map((n) => JSON.stringify({ message: `Hello John, ${n} of 3` }))
    const lines = await service.fetch('/helloworld/stream?name=John&count=3')
    t.equal(lines.headers.get('content-type'), 'application/x-ndjson')
    t.equal(await lines.text(), greetings.map((greeting) => `${greeting}\n`).join(''))

    const headers = { accept: 'text/event-stream' }
    const events = await service.fetch('/helloworld/stream?name=John&count=3', { headers })
    t.equal(events.headers.get('content-type'), 'text/event-stream')
    t.equal(
      await events.text(),
      `:\n\n${greetings.map((greeting) => `data: ${greeting}\n\n`).join('')}event: end\ndata: {}\n\n`,
    )

    const empty = await service.fetch('/helloworld/stream?name=John&count=0')
    t.equal(await empty.text(), '', 'an empty stream')
    const early = await service.fetch('/helloworld/stream?count=3')
    t.equal(early.status, 400, 'an error before the first message is the response')
  })

  t.test('stops streaming at the deadline or when the client disconnects', async (t) => {
    const service = await PythonService.open(t, python)
    const timely = { headers: { timeout: '0.3' } }
    const late = await service.fetch('/helloworld/stream?name=John&count=1000&pause=0.05', timely)
    const lines = (await late.text()).trimEnd().split('\n')
    t.strictSame(JSON.parse(lines[0]!), { message: 'Hello John, 1 of 1000' })
    t.match(JSON.parse(lines.at(-1)!), { error: { Code: 408, Status: 'Request Timeout' } })

    await waitUntil(() => service.countConnections() <= 1)
    const openStream = await service.stream('/helloworld/stream?name=John&count=1000000')
    await openStream.lines.next()
    openStream.reply.destroy()
    await waitUntil(() => service.countConnections() <= 1)
    t.equal((await service.fetch('/helloworld/call?name=John')).status, 200)
  })

  t.test(
    'accepts only one request per WebSocket; more require the WebSocket transport',
    async (t) => {
      const service = await PythonService.open(t, python)
      const open = async (query: string, ...requests: string[]) => {
        const url = `${service.origin.replace('http', 'ws')}/helloworld/stream${query}`
        const client = new WebSocket(url)
        const messages: unknown[] = []
        client.on('message', (data) => messages.push(JSON.parse(String(data))))
        client.on('open', () => {
          for (const request of requests) client.send(request)
        })
        const [code] = (await once(client, 'close')) as [number]
        return { code, messages }
      }
      const greetings = [1, 2].map((n) => ({ message: `Hello John, ${n} of 2` }))
      const complete = { code: 1000, messages: greetings }
      t.strictSame(await open('?name=John&count=2'), complete)
      t.strictSame(await open('', '{"name":"John","count":2}'), complete)
      const { code, messages } = await open('', '{"name":"John","pause":50}', '{"name":"Ann"}')
      t.equal(code, 1011)
      t.match(messages, [{ Code: 400, Detail: 'Helloworld.Stream accepts only one request' }])
    },
  )

  t.test(
    'SIGKILL during calls causes 502, and an error as the last line of a stream',
    async (t) => {
      const service = await PythonService.open(t, python)
      const { reply, lines } = await service.stream(
        '/helloworld/stream?name=John&count=1000&pause=0.02',
      )
      t.equal(reply.statusCode, 200)
      await lines.next()
      const body = '{"name":"John","count":1,"pause":50}'
      const pending = service.post('/helloworld/stream', body)
      await waitUntil(() => service.countConnections() === 2)
      await service.kill()
      const failed = await pending
      t.equal(failed.status, 502)
      t.match(await failed.json(), { Id: SERVICE, Code: 502, Status: 'Bad Gateway' })
      let last = ''
      for (let line = await lines.next(); !line.done; line = await lines.next()) last = line.value
      t.match(JSON.parse(last), { error: { Id: SERVICE, Code: 502, Status: 'Bad Gateway' } })
      t.equal(
        (await service.fetch('/helloworld/call?name=John')).status,
        502,
        'the service is down',
      )
    },
  )
})

t.test('a Python program encodes and decodes every test vector of the protocol', async (t) => {
  const python = skipUnless(t, 'python3')
  if (python === undefined) return
  const script = join(ROOT, 'test/fixtures/protocol_check.py')
  const run = (file: string) =>
    new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile(python, ['-W', 'error', script, file], (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
      )
    })
  const file = join(ROOT, 'test/fixtures/protocol.json')
  const text = await readFile(file, 'utf8')
  const { messages, invalid, ignored, metadata, errors } = JSON.parse(text)
  const result = await run(file)
  t.equal(result.stderr, '')
  t.equal(result.code, 0)
  t.strictSame(JSON.parse(result.stdout), {
    decoded: messages.length,
    encoded: messages.length,
    invalid: invalid.length,
    ignored: ignored.length,
    metadata: metadata.length,
    errors: errors.length,
  })

  const malformed = join(t.testdir(), 'wrong.json')
  await writeFile(malformed, text.replace('"timeoutMs": 10000', '"timeoutMs": 10001'))
  t.match(await run(malformed), {
    code: 1,
    stderr: /^decoded: a call: expected .*\nencoded: a call: /,
  })
})
