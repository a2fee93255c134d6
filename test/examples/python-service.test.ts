import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { OutgoingCall } from '../../core/rpc/call.ts'
import { PlainCaller } from '../../core/rpc/http/caller.ts'
import { Pool } from '../../core/upstream/pool/pool.ts'
import { ROOT } from '../../scripts/root.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'
import { RawClient } from '../fixtures/raw-client.ts'
import { RecordedCall } from '../fixtures/rpc.ts'
import { skipUnless } from '../fixtures/servers.ts'

const MAIN = join(ROOT, 'examples/python-service/main.py')

/** The service in a separate process, and its client. */
async function start(t: Test, python: string) {
  const service = spawn(python, ['-W', 'error', MAIN, '0'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stderr = ''
  service.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  t.teardown(async () => {
    if (service.exitCode === null && service.kill()) await once(service, 'exit')
  })
  let stdout = ''
  service.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  await waitUntil(() => stdout.includes('\n') || service.exitCode !== null)
  const line = /^helloworld listens on 127\.0\.0\.1:(\d+)\n$/.exec(stdout)
  if (line === null) throw new Error(`it did not start: ${stdout}${stderr}`)
  const port = Number(line[1])
  const pool = new Pool({
    host: '127.0.0.1',
    port,
    secure: false,
    timeouts: { connectMs: 5000, replyMs: 10_000, idleMs: 10_000 },
    keepAliveMs: 10_000,
    pipeline: 1,
    maxConnections: 8,
    maxWaiting: 1000,
  })
  const caller = new PlainCaller(pool, { host: '127.0.0.1', port })
  t.teardown(() => caller.close())
  return { service, port, caller, pool, getStderr: () => stderr }
}

function send(caller: PlainCaller, fields: Partial<OutgoingCall> = {}): RecordedCall {
  const call = new RecordedCall(fields)
  call.onEvent = (event) => {
    if (event.startsWith('data ')) call.consumed(event.length - 5)
  }
  caller.call(call)
  return call
}

async function runCall(caller: PlainCaller, fields?: Partial<OutgoingCall>): Promise<string[]> {
  const call = send(caller, fields)
  await waitUntil(() => call.carrier === undefined)
  return call.events
}

const STREAM = { endpoint: 'Helloworld.Stream', stream: true }
const START = 'start ""'
const GREETING = 'reply "content-type: application/json\\r\\n" {"message":"Hello John"}'

t.test('a Python service that uses only the standard library responds to calls', async (t) => {
  const python = skipUnless(t, 'python3')
  if (python === undefined) return
  const { caller, pool, port, service, getStderr } = await start(t, python)

  await t.test('of a unary endpoint', async (t) => {
    t.strictSame(await runCall(caller), [GREETING])
    t.strictSame(await runCall(caller, { service: 'go.mx.api.helloworld', timeoutMs: 5000 }), [
      GREETING,
    ])
    t.strictSame(await runCall(caller, { body: '{"name":"Grün\\n"}' }), [
      'reply "content-type: application/json\\r\\n" {"message":"Hello Grün\\n"}',
    ])
    t.equal(pool.size, 1, 'over a single connection')
  })

  await t.test('with errors as JSON', async (t) => {
    const cases: [Partial<OutgoingCall>, string][] = [
      [{ body: '{}' }, 'fail 400 helloworld: name must be a string'],
      [{ body: '' }, 'fail 400 helloworld: name must be a string'],
      [{ body: '{"name":' }, 'fail 400 helloworld: request must be JSON'],
      [{ body: '['.repeat(100_000) }, 'fail 400 helloworld: request must be JSON'],
      [{ body: '[]' }, 'fail 400 helloworld: request must be an object'],
      [{ endpoint: 'A.B' }, 'fail 404 helloworld: endpoint not found: helloworld.A.B'],
      [{ service: 'other' }, 'fail 404 helloworld: service not found: other'],
      [{ ...STREAM, body: '{}' }, 'fail 400 helloworld: name must be a string'],
      [
        { ...STREAM, body: '{"name":"John","count":"many"}' },
        'fail 400 helloworld: count must be an integer from 0 to 1000000',
      ],
    ]
    for (const [fields, event] of cases) t.strictSame(await runCall(caller, fields), [event])
  })

  await t.test('of a streaming endpoint, message by message', async (t) => {
    t.strictSame(await runCall(caller, STREAM), [
      START,
      ...[1, 2, 3].map((i) => `data {"message":"Hello John, ${i} of 3"}`),
      'end',
    ])
    t.strictSame(await runCall(caller, { ...STREAM, body: '{"name":"John","count":0}' }), [
      START,
      'end',
    ])
    const many = await runCall(caller, { ...STREAM, body: '{"name":"John","count":10000}' })
    t.equal(many.length, 10_002)
    t.equal(many.at(-2), 'data {"message":"Hello John, 10000 of 10000"}')
    const slow = send(caller, { ...STREAM, body: '{"name":"John","count":1000,"pause":0.01}' })
    await waitUntil(() => slow.events.length >= 3)
    t.ok(slow.carrier, 'the call is still in progress')
    slow.cancel()
    t.strictSame(await runCall(caller, { ...STREAM, stream: false }), [
      'fail 400 helloworld: Helloworld.Stream responds with a stream: request its path over HTTP, or use `client.stream()`',
    ])
  })

  await t.test('with an error after the first message as the last line', async (t) => {
    const body = '{"name":"John","count":1000,"pause":0.01}'
    const client = new RawClient(port)
    client.send(
      `POST / HTTP/1.1\r\nHost: a\r\nMx-Service: helloworld\r\nMx-Endpoint: Helloworld.Stream\r\nMx-Timeout: 100\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await client.waitUntil(({ text }) => text.endsWith('\r\n0\r\n\r\n'))
    client.destroy()
    const lines = client.text.match(/^\{.*\}$/gm)!
    t.equal(lines[0], '{"message":"Hello John, 1 of 1000"}')
    t.equal(
      lines.at(-1),
      '{"error":{"Id":"helloworld","Code":408,"Detail":"the deadline of the call has expired","Status":"Request Timeout"}}',
    )
  })

  await t.test('concurrently', async (t) => {
    const calls = Array.from({ length: 300 }, (_, i) => send(caller, { body: `{"name":"${i}"}` }))
    await waitUntil(() => caller.pending === 0)
    for (const [i, { events }] of calls.entries()) {
      if (!events[0]?.endsWith(`{"message":"Hello ${i}"}`)) t.fail(`call ${i}: ${events}`)
    }
    t.ok(pool.size <= 8)
  })

  t.equal(getStderr(), '')
  caller.close()
  service.kill()
  t.strictSame(await once(service, 'exit'), [0, null])
})
