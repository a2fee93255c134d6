import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { openApi } from '../../fixtures/api.ts'
import { listen } from '../../fixtures/listen.ts'
import {
  exportTo,
  openOtlpCollector,
  type ReceivedSpan,
  setVariables,
} from '../../fixtures/otlp-collector.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const PARENT = `00-${TRACE}-${SPAN}-01`

const collector = await openOtlpCollector(t)
exportTo(t, collector)

/** Headers of received requests by path. */
const receivedHeaders = new Map<string, IncomingHttpHeaders>()
/** Number of further requests that lose their connection. */
let cutPoints = 1
const backend = createServer((request, response) => {
  receivedHeaders.set(request.url!, request.headers)
  response.statusCode = request.url === '/greeter/broken' ? 500 : 200
  if (request.url === '/greeter/cut' && cutPoints-- > 0) request.socket.destroy()
  else response.end('hello')
})
const sockets = new WebSocketServer({ server: backend })
sockets.on('connection', (socket, request) => {
  receivedHeaders.set(request.url!, request.headers)
  socket.on('message', (data) => socket.send(data))
})
const nodePort = await listen(t, backend)

const GATEWAY = {
  MX_HANDLER: 'web',
  MX_BACKEND: `greeter=127.0.0.1:${nodePort}`,
  MX_ACCESS_LOG: 'off',
}
const api = await openApi(t, GATEWAY)
const origin = `http://127.0.0.1:${api.port}`

async function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  const reply = await fetch(`${origin}${path}`, { headers })
  await reply.arrayBuffer()
  return reply
}

t.test(
  'continues the trace of a request, with a span for the request and one for its attempt',
  async (t) => {
    await get('/greeter/a?token=secret', {
      traceparent: PARENT,
      tracestate: 'vendor=1, other=2',
      baggage: 'user=7',
    })
    const server = await collector.find(({ attributes }) => attributes['url.path'] === '/greeter/a')
    const client = await collector.find(({ parentSpanId }) => parentSpanId === server.spanId)
    const fields = receivedHeaders.get('/greeter/a?token=secret')!
    t.equal(server.traceId, TRACE)
    t.equal(server.parentSpanId, SPAN)
    t.equal(server.kind, 'server')
    t.equal(server.name, 'GET go.mx.api.greeter')
    t.equal(server.service, 'mx-api')
    t.match(server.attributes, {
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'server.address': '127.0.0.1',
      'server.port': api.port,
      'client.address': '127.0.0.1',
      'mx.service': 'greeter',
    })
    t.notOk(server.failed)
    t.equal(client.kind, 'client')
    t.match(client.attributes, {
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': nodePort,
      'url.full': `http://127.0.0.1:${nodePort}/greeter/a`,
    })
    t.equal(fields['traceparent'], `00-${TRACE}-${client.spanId}-01`)
    t.equal(fields['tracestate'], 'vendor=1,other=2')
    t.equal(server.tracestate, 'vendor=1,other=2')
    t.equal(fields['baggage'], 'user=7')
    t.notMatch(JSON.stringify(collector.spans), 'secret')
  },
)

t.test('starts a trace for a request without one or with a malformed one', async (t) => {
  await get('/greeter/b', { tracestate: 'vendor=1' })
  await get('/greeter/c', { traceparent: `00-${TRACE}-${SPAN}`, tracestate: 'vendor=1' })
  for (const path of ['/greeter/b', '/greeter/c']) {
    const span = await collector.find(({ attributes }) => attributes['url.path'] === path)
    t.equal(span.parentSpanId, '')
    t.not(span.traceId, TRACE)
    t.match(
      receivedHeaders.get(path)!['traceparent'],
      new RegExp(`^00-${span.traceId}-[0-9a-f]{16}-01$`),
    )
    t.notOk(receivedHeaders.get(path)!['tracestate'])
  }
})

t.test('propagates an unsampled trace without exporting it', async (t) => {
  await get('/greeter/unsampled', { traceparent: `00-${TRACE}-00000000000000aa-00` })
  const { traceparent } = receivedHeaders.get('/greeter/unsampled')!
  t.match(traceparent, new RegExp(`^00-${TRACE}-(?!00000000000000aa)[0-9a-f]{16}-00$`))
  await get('/greeter/sampled')
  await collector.find(({ attributes }) => attributes['url.path'] === '/greeter/sampled')
  t.notOk(collector.spans.some(({ attributes }) => attributes['url.path'] === '/greeter/unsampled'))
})

t.test('creates a span for each attempt', async (t) => {
  const reply = await get('/greeter/cut')
  const server = await collector.find(({ attributes }) => attributes['url.path'] === '/greeter/cut')
  const attempts = collector.spans.filter(({ parentSpanId }) => parentSpanId === server.spanId)
  t.equal(reply.status, 200)
  t.equal(attempts.length, 2)
  const [first, second] = attempts
  t.ok(first!.failed)
  t.equal(first!.attributes['error.type'], 'closed')
  t.equal(second!.attributes['http.request.resend_count'], 1)
  t.equal(
    receivedHeaders.get('/greeter/cut')!['traceparent'],
    `00-${server.traceId}-${second!.spanId}-01`,
  )
  t.notOk(server.failed)
})

t.test(
  "marks the span of a response with status 500 as failed, and marks only the client's span for 404",
  async (t) => {
    await get('/greeter/broken')
    await get('/missing/path')
    const broken = await collector.find((span) => span.attributes['url.path'] === '/greeter/broken')
    t.ok(broken.failed)
    t.equal(broken.attributes['error.type'], '500')
    const missing = await collector.find((span) => span.attributes['url.path'] === '/missing/path')
    t.notOk(missing.failed)
    t.equal(missing.attributes['http.response.status_code'], 404)
    t.equal(missing.name, 'GET', 'span names contain no client input')
  },
)

t.test('omits an unknown method from the span name and truncates a long path', async (t) => {
  const path = `/greeter/long/${'x'.repeat(3000)}`
  await fetch(`${origin}${path}`, { method: 'PROPFIND' }).then((reply) => reply.text())
  const isMatch = ({ attributes }: ReceivedSpan): boolean =>
    attributes['url.path'] === path.slice(0, 2048)
  const server = await collector.find(isMatch)
  const client = await collector.find(({ parentSpanId }) => parentSpanId === server.spanId)
  t.match(server.name, /^HTTP /)
  t.equal(client.name, 'HTTP')
  for (const { attributes } of [server, client])
    t.match(attributes, {
      'http.request.method': '_OTHER',
      'http.request.method_original': 'PROPFIND',
    })
  t.equal(client.attributes['url.full'], `http://127.0.0.1:${nodePort}${path.slice(0, 2048)}`)
})

t.test('ends the span of a WebSocket when it closes', async (t) => {
  const socket = new WebSocket(`ws://127.0.0.1:${api.port}/greeter/socket`, {
    headers: { traceparent: PARENT },
  })
  await new Promise((resolve) => socket.once('open', resolve))
  socket.send('ping')
  await new Promise((resolve) => socket.once('message', resolve))
  t.notOk(collector.spans.some(({ attributes }) => attributes['url.path'] === '/greeter/socket'))
  socket.close()
  const span = await collector.find(
    ({ attributes, kind }) => attributes['url.path'] === '/greeter/socket' && kind === 'server',
  )
  const client = await collector.find(({ parentSpanId }) => parentSpanId === span.spanId)
  t.equal(span.attributes['http.response.status_code'], 101)
  t.equal(receivedHeaders.get('/greeter/socket')!['traceparent'], `00-${TRACE}-${client.spanId}-01`)
})

t.test('starts a linked trace for a client outside the trusted ranges', async (t) => {
  const edge = await openApi(t, { ...GATEWAY, MX_TRACING_TRUST: '10.0.0.0/8' })
  const headers = { traceparent: PARENT, tracestate: 'vendor=1', baggage: 'user=7' }
  await fetch(`http://127.0.0.1:${edge.port}/greeter/edge`, { headers })
  const span = await collector.find(({ attributes }) => attributes['url.path'] === '/greeter/edge')
  const fields = receivedHeaders.get('/greeter/edge')!
  t.not(span.traceId, TRACE)
  t.same(span.links, [`${TRACE}-${SPAN}`])
  t.match(fields['traceparent'], new RegExp(`^00-${span.traceId}-`))
  t.notOk(fields['tracestate'])
  t.notOk(fields['baggage'])
})

t.test('adds the trace id to the access log', async (t) => {
  const path = join(t.testdir(), 'access.log')
  const logged = await openApi(t, { ...GATEWAY, MX_ACCESS_LOG: path })
  await fetch(`http://127.0.0.1:${logged.port}/greeter/log`, { headers: { traceparent: PARENT } })
  await logged.close()
  t.match(JSON.parse(readFileSync(path, 'utf8')), { path: '/greeter/log', trace: TRACE })
})

t.test('passes trace headers unchanged without an exporter', async (t) => {
  setVariables(t, { OTEL_EXPORTER_OTLP_ENDPOINT: undefined })
  const untracedGateway = await openApi(t, GATEWAY)
  t.notOk(untracedGateway.plugins.includes('tracing'))
  const headers = { traceparent: 'not one', tracestate: 'a=1 , b=2', baggage: 'x'.repeat(8500) }
  await fetch(`http://127.0.0.1:${untracedGateway.port}/greeter/off`, { headers })
  t.match(receivedHeaders.get('/greeter/off'), headers)
})
