import { once } from 'node:events'
import { Agent, type IncomingMessage, request as requestNode } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { Client } from 'undici'
import { RESERVED_HEADERS } from '../../../../core/http/hop-by-hop.ts'
import { Pool } from '../../../../core/upstream/pool/pool.ts'
import { Collector } from '../../../fixtures/collector.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'
import { REPLIES, type ReplyCase } from '../../../fixtures/replies.ts'

/** Result of parsing a response. A rejected response has the body that was relayed before the error. */
interface ParseResult {
  readonly isRejected: boolean
  readonly status: number
  readonly headers: readonly string[]
  readonly body: string
}

/** How the bytes of a response are split; each part is sent in its own tick. */
type Split = (raw: string) => readonly string[]

const inOnePiece: Split = (raw) => [raw]
/** Splits long responses near their ends only, where the framing is parsed. */
const byteByByte: Split = (raw) =>
  raw.length < 1000 ? [...raw] : [...raw.slice(0, 100), raw.slice(100, -300), ...raw.slice(-300)]

/** Timeout for the result of a client. */
const UNDECIDED_MS = 400

const round = () => new Promise((resolve) => setImmediate(resolve))

let script: { readonly reply: ReplyCase; readonly split: Split }
const sockets = new Set<Socket>()
const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
  socket.on('error', () => {})
  let received = ''
  let requests = 0
  socket.on('data', async (bytes) => {
    received += bytes.toString('latin1')
    if (received.split('\r\n\r\n').length - 1 === requests) return
    requests++
    // A reused connection gets a valid response.
    if (requests > 1 || received.startsWith('GET /again')) {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain')
      return
    }
    const { reply, split } = script
    for (const part of split(reply.raw)) {
      if (socket.destroyed) return
      socket.write(part, 'latin1')
      await round()
      await round()
    }
    if (reply.close) socket.end()
  })
  socket.on('end', () => socket.end())
})
server.listen(0, '127.0.0.1')

let port = 0
t.before(async () => {
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
t.teardown(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

const options = {
  host: '127.0.0.1',
  secure: false,
  pipeline: 1,
  maxConnections: 4,
  maxWaiting: 0,
  timeouts: { connectMs: 5000, replyMs: 5000, idleMs: 5000 },
  keepAliveMs: 5000,
}

/** Result of the gateway's client, and whether its connection was reused and has no unread data. */
async function exchange(
  reply: ReplyCase,
  split: Split,
): Promise<{ call: Collector; outcome: string; retained: boolean; nextOutcome: string }> {
  script = { reply, split }
  const pool = new Pool({ ...options, port })
  try {
    const call = new Collector({ method: reply.method })
    pool.dispatch(call)
    await call.done
    // Bytes after a response in their own segment need a tick to be received.
    for (let i = 0; i < 10 && (i < 3 || split !== inOnePiece); i++) await round()
    if (!reply.retained) for (let i = 0; i < 1000 && pool.size > 0; i++) await round()
    const isReused = pool.size > 0
    const nextOutcome = new Collector({ path: '/again' })
    pool.dispatch(nextOutcome)
    await nextOutcome.done
    const outcome = call.complete ? 'complete' : (call.failure?.kind ?? 'nothing')
    return { call, outcome, retained: isReused, nextOutcome: nextOutcome.body }
  } finally {
    pool.close()
  }
}

function withTimeLimit(promise: Promise<ParseResult>): Promise<ParseResult | 'undecided'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'undecided'>((resolve) => {
    timer = setTimeout(() => resolve('undecided'), UNDECIDED_MS)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

const rejection: ParseResult = { isRejected: true, status: 0, headers: [], body: '' }

async function sendWithNode(reply: ReplyCase): Promise<ParseResult | 'undecided'> {
  script = { reply, split: inOnePiece }
  const agent = new Agent({ keepAlive: true })
  const request = requestNode({ host: '127.0.0.1', port, method: reply.method, agent })
  const pending = new Promise<ParseResult>((resolve) => {
    request.on('error', () => resolve(rejection))
    request.on('close', () => setImmediate(() => resolve(rejection)))
    request.on('response', (message: IncomingMessage) => {
      const chunks: Buffer[] = []
      message.on('data', (chunk: Buffer) => chunks.push(chunk))
      message.on('error', () => resolve(rejection))
      message.on('end', () =>
        resolve({
          isRejected: false,
          status: message.statusCode!,
          headers: toEndToEnd(message),
          body: Buffer.concat(chunks).toString('latin1'),
        }),
      )
    })
  })
  request.end()
  const result = await withTimeLimit(pending)
  request.destroy()
  agent.destroy()
  return result
}

/** The end-to-end headers (RFC 9110 §7.6.1): name, value, name, value… */
function toEndToEnd({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = (headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  return rawHeaders.flatMap((name, i) => {
    const lower = name.toLowerCase()
    if (i % 2 === 1 || RESERVED_HEADERS.has(lower) || named.includes(lower)) return []
    return [lower, rawHeaders[i + 1]!]
  })
}

async function sendWithUndici(reply: ReplyCase): Promise<ParseResult | 'undecided'> {
  script = { reply, split: inOnePiece }
  const client = new Client(`http://127.0.0.1:${port}`)
  const pending = client
    .request({ path: '/', method: reply.method as 'GET' })
    .then(async ({ statusCode, body }) => ({
      isRejected: false,
      status: statusCode,
      headers: [],
      body: Buffer.from(await body.arrayBuffer()).toString('latin1'),
    }))
    .catch(() => rejection)
  const result = await withTimeLimit(pending)
  await client.destroy()
  return result
}

/** Whether another client agrees with the corpus. */
function agrees(reply: ReplyCase, result: ParseResult | 'undecided'): boolean {
  if (result === 'undecided') return false
  if (reply.outcome !== 'complete') return result.isRejected
  return !result.isRejected && result.status === reply.status && result.body === reply.body
}

for (const [title, split] of [
  ['in one piece', inOnePiece],
  ['byte by byte', byteByByte],
] as const) {
  t.test(`responses sent ${title} are parsed as specified`, async (t) => {
    for (const reply of REPLIES) {
      const { call, outcome, retained, nextOutcome } = await exchange(reply, split)
      t.equal(outcome, reply.outcome, `${reply.name}: outcome`)
      t.equal(retained, reply.retained, `${reply.name}: connection kept alive`)
      t.equal(nextOutcome, 'again', `${reply.name}: the next request gets its own response`)
      if (reply.outcome === 'complete') {
        t.equal(call.status, reply.status, `${reply.name}: status`)
        t.equal(call.body, reply.body, `${reply.name}: body`)
        if (reply.headers !== undefined)
          t.strictSame(call.headers, reply.headers, `${reply.name}: headers`)
      } else t.ok(reply.body.startsWith(call.body), `${reply.name}: no invalid data is forwarded`)
      t.equal(
        call.events.filter((event) => /^(reply|end|failure)/.test(event)).length,
        1,
        `${reply.name}: settled once`,
      )
    }
  })
}

t.test(
  'node:http and undici agree with the corpus, except for the recorded differences',
  async (t) => {
    for (const reply of REPLIES) {
      const node = await sendWithNode(reply)
      const undici = await sendWithUndici(reply)
      for (const [name, result] of [
        ['node', node],
        ['undici', undici],
      ] as const) {
        const differs = reply.differs?.clients.includes(name) ?? false
        t.equal(agrees(reply, result), !differs, `${reply.name}: ${name}`, { result })
      }
      if (reply.outcome !== 'complete' || node === 'undecided' || node.isRejected) continue
      const { call } = await exchange(reply, inOnePiece)
      t.strictSame(call.headers, node.headers, `${reply.name}: headers as in node:http`)
    }
  },
)

t.test('a response is parsed identically wherever it is split', async (t) => {
  const short = REPLIES.filter(({ raw }) => raw.length > 1 && raw.length < 400)
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...short),
      fc.array(fc.nat(400), { maxLength: 6 }),
      async (reply, at) => {
        const cutPoints = [...new Set(at.map((cut) => cut % reply.raw.length))].sort(
          (a, b) => a - b,
        )
        const split: Split = (raw) =>
          [0, ...cutPoints]
            .map((from, i) => raw.slice(from, cutPoints[i]))
            .filter((part) => part !== '')
        const { call, outcome, retained, nextOutcome } = await exchange(reply, split)
        return (
          outcome === reply.outcome &&
          retained === reply.retained &&
          nextOutcome === 'again' &&
          (outcome === 'complete' ? call.body === reply.body : reply.body.startsWith(call.body))
        )
      },
    ),
    { numRuns: scaleRuns(300) },
  )
  t.pass('300 random splits')
})
