// Backend for delayed and streamed responses, which nginx cannot produce. Without nginx, it serves all scenarios.
// Argument: port.
import { createServer, type ServerResponse } from 'node:http'
import {
  createTick,
  LARGE_JSON,
  SLOW_MS,
  SMALL_JSON,
  SMALL_PROTOBUF,
  TICK_MS,
} from './documents.ts'

interface Reply {
  readonly type: string
  readonly body: Buffer
}

const JSON_TYPE = 'application/json'
const SMALL: Reply = { type: JSON_TYPE, body: Buffer.from(SMALL_JSON) }
/** Responses by last path segment. */
const REPLIES: Readonly<Record<string, Reply>> = {
  '64k': { type: JSON_TYPE, body: Buffer.alloc(64 * 1024, 'x') },
  '1m': { type: JSON_TYPE, body: Buffer.alloc(1024 * 1024, 'x') },
  large: { type: JSON_TYPE, body: Buffer.from(LARGE_JSON) },
  protobuf: { type: 'application/protobuf', body: SMALL_PROTOBUF },
}

const server = createServer((request, response) => {
  request.resume()
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  const name = pathname.split('/').at(-1) ?? ''
  if (name === 'stream' || name === 'ticks') {
    const events = request.headers.accept === 'text/event-stream'
    const count = Number(searchParams.get('count'))
    return stream(response, count, events, name === 'ticks')
  }
  const { type, body } = REPLIES[name] ?? SMALL
  const respond = () => {
    response.writeHead(200, { 'content-type': type, 'content-length': body.length })
    response.end(body)
  }
  if (name === 'slow') setTimeout(respond, SLOW_MS)
  else respond()
})
server.keepAliveTimeout = 600_000
server.listen(Number(process.argv[2]), '127.0.0.1')

/** Writes the same lines or events as the `rpc` handler does for this stream. */
function stream(response: ServerResponse, count: number, events: boolean, slowly: boolean): void {
  response.writeHead(200, {
    'content-type': events ? 'text/event-stream' : 'application/x-ndjson',
    'cache-control': 'no-store',
    // Disables response buffering in nginx.
    'x-accel-buffering': 'no',
  })
  if (events) response.write(':\n\n')
  let sent = 0
  const send = () => {
    const text = JSON.stringify(createTick(sent++))
    response.write(events ? `data: ${text}\n\n` : `${text}\n`)
    if (sent === count) response.end(events ? 'event: end\ndata: {}\n\n' : undefined)
  }
  if (!slowly) {
    while (sent < count) send()
    return
  }
  const timer = setInterval(() => {
    send()
    if (sent === count) clearInterval(timer)
  }, TICK_MS)
  response.on('close', () => clearInterval(timer))
}
