import t from 'tap'
import { Agent, request } from 'undici'
import { LISTENERS, openGateway } from '../fixtures/gateway.ts'
import { openRawBackend, type RawConnection, tick, waitUntil } from '../fixtures/raw-backend.ts'

const REQUESTS = 3000
const CLIENTS = 32

/** Pseudo-random numbers with a fixed seed. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const head = (length: number, ...fields: string[]) =>
  ['HTTP/1.1 200 OK', ...fields, `Content-Length: ${length}`, '', ''].join('\r\n')

/** Actions of a backend by frequency. `body` names the request. */
type BackendAction = (connection: RawConnection, body: string) => void

const respondAtOnce: BackendAction = (connection, body) => connection.send(head(body.length) + body)
const chunked: BackendAction = (connection, body) =>
  connection.send(
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  )
const large: BackendAction = (connection, body) => {
  const complete = body + 'x'.repeat(300_000)
  connection.send(head(complete.length) + complete)
}
const FAULTS: readonly BackendAction[] = [
  ({ socket }) => socket.destroy(),
  // Node.js loses the handle of a socket that is reset during its end.
  ({ socket }) => (socket.writableEnded ? socket.destroy() : socket.resetAndDestroy()),
  (connection) => connection.send('HTTP/1.1 200 O').socket.end(),
  (connection, body) => connection.send(`${head(1000)}${body}`).socket.end(),
  (connection, body) =>
    connection
      .send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n${body}`)
      .socket.end(),
  (connection, body) =>
    connection.send(`HTTP/1.1 200 OK\r\nA B: 1\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
  (connection, body) =>
    connection.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n${body}`),
  (connection, body) => connection.send(head(body.length, 'Connection: close') + body).socket.end(),
]
/**
 * Unsolicited bytes after a response. Backends with pipelining must not send any, because such bytes could belong to
 * any response.
 */
const POISON: BackendAction = (connection, body) =>
  connection.send(`${head(body.length)}${body}${head(6)}POISON`)

for (const [name, listener] of Object.entries(LISTENERS)) {
  for (const pipeline of [1, 8]) {
    t.test(
      `faulty backends never cause a response to the wrong request, on ${name} with ${pipeline} pipelined`,
      async (t) => {
        const random = createRandom(pipeline)
        const faults = pipeline === 1 ? [...FAULTS, POISON] : FAULTS
        const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
        const respond: BackendAction = (connection, body) => {
          const share = random()
          const behaviour =
            share < 0.15
              ? pick(faults)
              : share < 0.2
                ? large
                : share < 0.5
                  ? chunked
                  : respondAtOnce
          behaviour(connection, body)
        }
        const onRequest = (connection: RawConnection) => {
          // Responses are sent in the order of the requests, independent of their duration.
          const path = /^[A-Z]+ \/app\/(\S+)/.exec(connection.text)![1]!
          connection.text = connection.text.slice(connection.text.indexOf('\r\n\r\n') + 4)
          respond(connection, `<${path}>`)
        }
        const backends = [1, 2, 3].map(() => openRequests(t, onRequest))
        const ports = (await Promise.all(backends)).map(({ port }) => port)
        const gateway = await openGateway(
          t,
          { app: ports.map((port) => `127.0.0.1:${port};pipeline=${pipeline}`) },
          { listener, pool: { maxConnections: 8, maxWaiting: 100 } },
        )
        const agent = new Agent({ connections: CLIENTS })
        t.teardown(() => agent.destroy())
        const outcomes = { answered: 0, refused: 0, cut: 0, left: 0 }
        const invalid: string[] = []
        let next = 0
        const client = async () => {
          while (next < REQUESTS) {
            const id = next++
            const method = id % 5 === 0 ? 'POST' : 'GET'
            const controller = id % 17 === 0 ? new AbortController() : undefined
            if (controller !== undefined) setImmediate(() => controller.abort())
            try {
              const { statusCode, body } = await request(`${gateway.origin}/app/${id}`, {
                method,
                dispatcher: agent,
                ...(controller && { signal: controller.signal }),
              })
              const text = await body.text()
              if (statusCode === 200) {
                outcomes.answered++
                const isUnaltered =
                  text === `<${id}>` || (text.startsWith(`<${id}>x`) && text.length >= 300_000)
                if (!isUnaltered) invalid.push(`${id}: ${text.slice(0, 50)}`)
              } else {
                outcomes.refused++
                if (statusCode < 502 || statusCode > 504) invalid.push(`${id}: ${statusCode}`)
              }
            } catch {
              if (controller === undefined) outcomes.cut++
              else outcomes.left++
            }
          }
        }
        await Promise.all(Array.from({ length: CLIENTS }, client))
        t.strictSame(invalid, [])
        t.ok(outcomes.answered > REQUESTS * 0.7, JSON.stringify(outcomes))
        t.ok(
          outcomes.refused > 0 && outcomes.cut > 0 && outcomes.left > 0,
          'every outcome occurred',
        )
        await waitUntil(() => gateway.gateway.inFlight === 0)
        await tick()
        const upstream = await gateway.directory.find('go.mx.api.app')
        t.ok(upstream!.nodes.every(({ active }) => active === 0))
        t.ok(upstream!.nodes.every(({ pool }) => pool.size <= 8))
        t.strictSame(gateway.faults, [])
      },
    )
  }
}

/** A backend that is called once per request head, for any chunk sizes. */
async function openRequests(
  t: Parameters<typeof openRawBackend>[0],
  onRequest: (connection: RawConnection) => void,
) {
  const backend = await openRawBackend(t)
  backend.server.on('connection', (socket) => {
    socket.on('data', () => {
      const connection = backend.connections.find((each) => each.socket === socket)!
      while (connection.text.includes('\r\n\r\n')) onRequest(connection)
    })
  })
  return backend
}
