import { createServer, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { Cluster } from '../../../adapters/kubernetes/cluster.ts'
import {
  type ApiRequest,
  get,
  readLines,
  readText,
  send,
} from '../../../adapters/kubernetes/request.ts'
import { listen } from '../../fixtures/listen.ts'

const SIGNAL = new AbortController().signal

async function open(t: Test, handler: RequestListener, path = ''): Promise<Cluster> {
  const server = createServer(handler)
  const port = await listen(t, server)
  return {
    server: new URL(`http://127.0.0.1:${port}${path}`),
    namespace: 'shop',
    readOptions: async () => ({ headers: { authorization: 'Bearer t' } }),
  }
}

t.test('sends the credentials and keeps the base path of the server', async (t) => {
  for (const path of ['', '/', '/clusters/a', '/clusters/a/']) {
    const cluster = await open(
      t,
      ({ url, headers }, response) => response.end(`${url} ${headers.authorization}`),
      path,
    )
    const response = await get(cluster, '/api/v1/services?limit=1', SIGNAL)
    const base = path.replace(/\/$/, '')
    t.equal(await readText(response, 1000), `${base}/api/v1/services?limit=1 Bearer t`)
  }
})

t.test('throws the message of an error response', async (t) => {
  const cases: [number, string, RegExp][] = [
    [403, '{"kind":"Status","message":"services is forbidden"}', /^403 services is forbidden$/],
    [302, '', /^302$/],
    [502, '<html>\n  bad  gateway', /^502 <html> bad gateway$/],
    [500, '{"message":1}', /^500 \{"message":1\}$/],
    [500, 'null', /^500 null$/],
    [500, 'x'.repeat(1000), /^500 x{300}$/],
  ]
  for (const [status, body, message] of cases) {
    const cluster = await open(t, (_, response) => response.writeHead(status).end(body))
    await t.rejects(get(cluster, '/', SIGNAL), { name: 'ApiError', status, message })
  }
})

t.test('sends a body with its type and accepts 201 and 202', async (t) => {
  const cluster = await open(t, async (request, response) => {
    const { method, url, headers } = request
    const body = await text(request)
    response.writeHead(201).end(`${method} ${url} ${headers['content-type']} ${body}`)
  })
  const sendRequest = async (query: ApiRequest): Promise<string> =>
    readText(await send(cluster, query, SIGNAL), 1000)
  const path = '/api/v1/secrets/a'
  t.equal(
    await sendRequest({
      method: 'PATCH',
      path,
      body: { a: 'ü' },
      type: 'application/apply-patch+yaml',
    }),
    `PATCH ${path} application/apply-patch+yaml {"a":"ü"}`,
  )
  t.equal(
    await sendRequest({ method: 'DELETE', path, body: {} }),
    `DELETE ${path} application/json {}`,
  )
  t.equal(await sendRequest({ path }), `GET ${path} undefined `)
})

t.test('reads Retry-After up to one minute', async (t) => {
  for (const [text, retryAfterMs] of [
    ['2', 2000],
    ['9999', 60_000],
    ['soon', 0],
    ['-1', 0],
  ] as const) {
    const headers = { 'retry-after': text }
    const cluster = await open(t, (_, response) => response.writeHead(429, headers).end())
    await t.rejects(get(cluster, '/', SIGNAL), { name: 'ApiError', status: 429, retryAfterMs })
  }
})

t.test('throws without a response or on abort', async (t) => {
  const cluster = await open(t, ({ socket }) => socket.destroy())
  await t.rejects(get(cluster, '/', SIGNAL), { code: 'ECONNRESET' })
  const silent = await open(t, () => {})
  const controller = new AbortController()
  const handler = t.rejects(get(silent, '/', controller.signal), { name: 'AbortError' })
  setImmediate(() => controller.abort())
  await handler
})

t.test('stops reading a response beyond the limit', async (t) => {
  const cluster = await open(t, (_, response) => response.end('x'.repeat(1001)))
  await t.rejects(readText(await get(cluster, '/', SIGNAL), 1000), {
    name: 'ApiError',
    message: 'the response exceeds the limit of 1000 bytes',
  })
  t.equal((await readText(await get(cluster, '/', SIGNAL), 1001)).length, 1001)
})

t.test('returns complete lines for any chunk size', async (t) => {
  const text = '{"a":"ü€𝄞"}\n\n{"b":2}\r\n{"c":3}\nrest without end'
  for (const size of [1, 2, 3, 7, 1000]) {
    const cluster = await open(t, async (_, response) => {
      const bytes = Buffer.from(text)
      for (let i = 0; i < bytes.length; i += size) {
        response.write(bytes.subarray(i, i + size))
        await new Promise(setImmediate)
      }
      response.end()
    })
    const lines: unknown[] = []
    for await (const some of readLines(await get(cluster, '/', SIGNAL), 1000))
      lines.push(...some.map((line) => JSON.parse(line)))
    t.same(lines, [{ a: 'ü€𝄞' }, { b: 2 }, { c: 3 }], `chunks of ${size} bytes`)
  }
})

t.test('rejects a line beyond the limit but accepts any number of lines', async (t) => {
  const cluster = await open(t, (_, response) => response.end('x'.repeat(2000)))
  const read = async (): Promise<void> => {
    for await (const _ of readLines(await get(cluster, '/', SIGNAL), 1000));
  }
  await t.rejects(read(), { name: 'ApiError', message: 'an event exceeds the limit of 1000 bytes' })
  const many = await open(t, (_, response) => response.end('{"a":1}\n'.repeat(1000)))
  let count = 0
  for await (const some of readLines(await get(many, '/', SIGNAL), 1000)) count += some.length
  t.equal(count, 1000)
})
