import { request as httpRequest } from 'node:http'
import t, { type Test } from 'tap'
import type { Service } from '../../../../core/contracts/registry.ts'
import type { IncomingCall } from '../../../../core/rpc/call.ts'
import { Pool } from '../../../../core/upstream/pool/pool.ts'
import { ServiceError } from '../../../../sdk/errors.ts'
import { LISTENERS } from '../../../fixtures/gateway.ts'
import { createGreeter, createGreeterLog } from '../../../fixtures/greeter.ts'
import {
  FORMS,
  type MxService,
  type MxServiceOptions,
  openMxService,
} from '../../../fixtures/mx-service.ts'
import { openRawBackend, waitUntil } from '../../../fixtures/raw-backend.ts'
import {
  openRpcGateway,
  type RpcGateway,
  type RpcGatewayOptions,
} from '../../../fixtures/rpc-gateway.ts'

/** A gateway in front of one node per given options. */
async function open(t: Test, nodes: readonly MxServiceOptions[], options: RpcGatewayOptions = {}) {
  const calls = createGreeterLog()
  const services = await Promise.all(
    nodes.map((node) => openMxService(t, createGreeter(calls), node)),
  )
  const gateway = await openRpcGateway(
    t,
    services.map(({ entry }) => entry),
    options,
  )
  return { gateway, services, calls, url: `${gateway.origin}/greeter` }
}

async function send(
  url: string,
  init: RequestInit = {},
): Promise<{ status: number; headers: Headers; json: unknown }> {
  const reply = await fetch(url, init)
  const text = await reply.text()
  return { status: reply.status, headers: reply.headers, json: text === '' ? {} : JSON.parse(text) }
}

const post = (url: string) => send(url, { method: 'POST' })

/** Fails the first calls of an endpoint with a code, and passes the others. */
function failing(code: number, times = Number.POSITIVE_INFINITY) {
  let remaining = times
  return (call: IncomingCall): boolean => {
    if (remaining-- <= 0) return false
    call.fail(new ServiceError('greeter', code, 'fails'))
    return true
  }
}

function totalCalls(services: readonly MxService[]): number {
  return services.reduce((sum, { calls }) => sum + calls.length, 0)
}

async function activeNodes({ directory }: RpcGateway): Promise<number[]> {
  return (await directory.find('go.mx.api.greeter'))!.nodes.map(({ active }) => active)
}

for (const protocol of FORMS) {
  t.test(
    `${protocol}: a call past its deadline fails with 408 and is cancelled at the service`,
    async (t) => {
      const { url, services, calls, gateway } = await open(t, [{ protocol }])
      const rows: Record<string, string>[] = [
        { timeout: '0.2' },
        { 'grpc-timeout': '200m' },
        { 'grpc-timeout': '200000u' },
      ]
      for (const [i, headers] of rows.entries()) {
        const startMs = performance.now()
        const { status, json } = await send(`${url}/wait`, { headers })
        t.ok(performance.now() - startMs >= 190, 'not before the deadline')
        t.equal(status, 408)
        t.match(json, { Id: 'go.mx.api.greeter', Code: 408, Status: 'Request Timeout' })
        await waitUntil(() => calls.aborted.length === i + 1)
        const { timeoutMs } = services[0]!.calls[i]!
        t.ok(
          timeoutMs > 0 && timeoutMs <= 200,
          `the service received a deadline of ${timeoutMs} ms`,
        )
      }
      t.equal(services[0]?.calls.length, rows.length, 'no retry')
      t.same(await activeNodes(gateway), [0])
      t.same(gateway.ejected, [])
    },
  )

  t.test(`${protocol}: reply_timeout limits the deadline of a call`, async (t) => {
    const { url, services } = await open(t, [{ protocol }], { flags: ['--reply_timeout=200ms'] })
    for (const headers of [{}, { timeout: '60' }]) {
      t.equal((await send(`${url}/wait`, { headers })).status, 408)
      t.ok(services[0]!.calls.at(-1)!.timeoutMs <= 200)
    }
  })

  t.test(
    `${protocol}: reply_timeout is not sent to a service with unknown endpoints`,
    async (t) => {
      const flags = ['--reply_timeout=200ms']
      const { url, services, calls } = await open(t, [{ protocol, declares: false }], { flags })
      t.equal((await send(`${url}/wait`)).status, 408)
      t.equal(services[0]?.calls[0]?.timeoutMs, 0)
      await waitUntil(() => calls.aborted.length === 1)
      t.equal((await send(`${url}/wait`, { headers: { timeout: '0.1' } })).status, 408)
      t.ok(services[0]!.calls[1]!.timeoutMs > 0, 'the deadline of the client is sent')
    },
  )

  t.test(
    `${protocol}: GET and HEAD are retried once on another node after 500 and 408`,
    async (t) => {
      for (const code of [500, 408]) {
        const { url, services, gateway } = await open(t, [
          { protocol, intercept: failing(code, 1) },
          { protocol, intercept: failing(code, 1) },
        ])
        t.equal((await send(`${url}/nothing`)).status, code, 'each has failed once')
        t.same(
          services.map(({ calls }) => calls.length),
          [1, 1],
        )
        t.equal((await send(`${url}/nothing`, { method: 'HEAD' })).status, 200)
        t.same(await activeNodes(gateway), [0, 0])
      }
      const { url, services } = await open(t, [{ protocol, intercept: failing(500, 1) }])
      t.equal((await send(`${url}/nothing`, { method: 'HEAD' })).status, 200)
      t.equal(services[0]?.calls.length, 2, 'a single node receives the retry itself')
    },
  )

  t.test(
    `${protocol}: other statuses, other methods and non-idempotent endpoints are not retried`,
    async (t) => {
      const rows: [string, string, number][] = [
        ['GET', 'create', 500],
        ['POST', 'nothing', 500],
        ['PUT', 'nothing', 500],
        ['DELETE', 'nothing', 408],
        ...[400, 401, 403, 404, 409, 429, 501, 502, 503, 504].map(
          (code): [string, string, number] => ['GET', 'nothing', code],
        ),
      ]
      for (const [method, path, code] of rows) {
        const node: MxServiceOptions = { protocol, intercept: failing(code, 1) }
        const { url, services } = await open(t, [node, node])
        const { status } = await send(`${url}/${path}`, { method })
        t.strictSame([status, totalCalls(services)], [code, 1], `${method} ${path} ${code}`)
      }
    },
  )

  t.test(`${protocol}: an endpoint that declares idempotent false is not retried`, async (t) => {
    const node: MxServiceOptions = { protocol, declares: false }
    const { url, services } = await open(t, [node, node])
    t.equal((await send(`${url}/create`)).status, 500)
    t.equal(totalCalls(services), 1)
    t.equal((await send(`${url}/crash`)).status, 500)
    t.equal(totalCalls(services), 3, 'other endpoints are retried')
  })

  t.test(`${protocol}: headers of a typed error are sent with the response`, async (t) => {
    const headers = ['Retry-After', '7', 'x-name', 'J\u00f6rg', 'www-authenticate', 'A']
    // Headers that services cannot set.
    const others = ['connection', 'close', 'content-length', '5', 'content-encoding', 'gzip']
    const reservedHeaders = ['content-type', 'text/html', 'mx-account', '{}', 'date', 'never']
    const fields = [...headers, 'www-authenticate', 'B', ...others, ...reservedHeaders]
    const { url } = await open(t, [
      {
        protocol,
        intercept: (call) => {
          call.fail(new ServiceError('greeter', 429, 'slow', { headers: fields }))
          return true
        },
      },
    ])
    const reply = await post(`${url}/nothing`)
    t.equal(reply.status, 429)
    t.strictSame(reply.json, {
      Id: 'greeter',
      Code: 429,
      Detail: 'slow',
      Status: 'Too Many Requests',
    })
    t.equal(reply.headers.get('retry-after'), '7')
    t.equal(reply.headers.get('x-name'), 'J\u00f6rg')
    t.equal(reply.headers.get('www-authenticate'), 'A, B')
    t.equal(reply.headers.get('content-type'), 'application/json')
    for (const name of ['content-encoding', 'mx-account']) t.equal(reply.headers.get(name), null)
    t.not(reply.headers.get('date'), 'never')
  })

  t.test(`${protocol}: a 415 response of the service has an Accept header`, async (t) => {
    const { url } = await open(t, [{ protocol }])
    const { status, headers } = await send(`${url}/hello`, {
      method: 'POST',
      headers: { 'content-type': 'application/protobuf' },
    })
    t.equal(status, 415)
    t.equal(headers.get('accept'), 'application/json')
  })

  t.test(
    `${protocol}: a node that refuses connections is ejected, and no call fails`,
    async (t) => {
      const { url, services, gateway } = await open(t, [{ protocol }, { protocol }, { protocol }])
      await services[0]!.kill()
      for (let i = 0; i < 9; i++) {
        const { status, json } = await send(`${url}/hello`, {
          method: 'POST',
          body: '{"name":"x"}',
          headers: { 'content-type': 'application/json' },
        })
        t.strictSame([status, json], [200, { message: 'Hello x' }])
      }
      t.same(gateway.ejected, [services[0]?.entry.nodes[0]?.id])
      t.equal(totalCalls(services), 9)
      t.same(await activeNodes(gateway), [0, 0, 0])
    },
  )

  t.test(`${protocol}: a call fails with 502 if every node refuses connections`, async (t) => {
    const { url, services, gateway } = await open(t, [{ protocol }, { protocol }])
    await Promise.all(services.map(({ kill }) => kill()))
    for (const init of [{}, { method: 'POST' }]) {
      const { status, json } = await send(`${url}/nothing`, init)
      t.equal(status, 502)
      t.strictSame(json, {
        Id: 'go.mx.api.greeter',
        Code: 502,
        Detail: 'bad gateway: the service refused the connection',
        Status: 'Bad Gateway',
      })
    }
    t.match(
      gateway.exchanges[0]?.failure,
      /127\.0\.0\.1|has stopped/,
      'the cause is logged but not sent to clients',
    )
  })

  t.test(`${protocol}: errors of a service are logged from status 500`, async (t) => {
    for (const code of [400, 404, 413, 499, 500, 503]) {
      const { url, gateway } = await open(t, [{ protocol, intercept: failing(code) }])
      t.equal((await post(`${url}/nothing`)).status, code)
      t.equal(gateway.exchanges[0]?.failure !== '', code >= 500, `${code}`)
    }
  })

  t.test(`${protocol}: error responses of a service do not eject its node`, async (t) => {
    for (const code of [500, 502, 503, 504]) {
      const { url, gateway } = await open(t, [{ protocol, intercept: failing(code) }, { protocol }])
      const failed: number[] = []
      for (let i = 0; i < 20; i++) failed.push((await post(`${url}/nothing`)).status)
      t.equal(failed.filter((status) => status === code).length, 10)
      t.same(gateway.ejected, [])
    }
  })
}

t.test(
  'http: error responses of a proxy in front of a node eject the node, errors of a service do not',
  async (t) => {
    for (const [response, status, isMalformed] of [
      ['HTTP/1.1 503 \r\nRetry-After: 9\r\nContent-Length: 4\r\n\r\nbusy', 503, true],
      ['HTTP/1.1 502 \r\nContent-Length: 2\r\n\r\n{}', 502, true],
      ['HTTP/1.1 504 \r\nContent-Length: 0\r\n\r\n', 504, true],
      ['HTTP/1.1 302 \r\nContent-Length: 0\r\n\r\n', 502, true],
      ['nonsense\r\n\r\n', 502, true],
      ['HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n', 404, false],
      ['HTTP/1.1 503 \r\nContent-Length: 12\r\n\r\n{"Code":503}', 503, false],
    ] as const) {
      const backend = await openRawBackend(t, {
        onRequest: (connection) => connection.send(response),
      })
      const service = await openMxService(t, createGreeter(), { protocol: 'http' })
      const address = `127.0.0.1:${backend.port}`
      const malformedService: Service = {
        ...service.entry,
        nodes: [{ id: address, address, metadata: { protocol: 'http' } }],
      }
      const gateway = await openRpcGateway(t, [service.entry, malformedService])
      const replies: { status: number; headers: Headers }[] = []
      for (let i = 0; i < 20; i++) replies.push(await post(`${gateway.origin}/greeter/nothing`))
      const failed = replies.filter((reply) => reply.status === status)
      t.equal(failed.length, isMalformed ? 3 : 10, response)
      t.same(gateway.ejected, isMalformed ? [address] : [])
      const retryAfter = response.includes('Retry-After') ? '9' : null
      t.equal(failed[0]?.headers.get('retry-after'), retryAfter)
    }
  },
)

t.test(
  'mx: a node that accepts connections without a response is ejected after connect_timeout',
  async (t) => {
    const silent = await openRawBackend(t)
    const service = await openMxService(t, createGreeter())
    const address = `127.0.0.1:${silent.port}`
    const node = { id: address, address, metadata: { protocol: 'mx' } }
    const gateway = await openRpcGateway(t, [{ ...service.entry, nodes: [node] }, service.entry], {
      flags: ['--connect_timeout=200ms'],
    })
    const startMs = performance.now()
    for (let i = 0; i < 4; i++)
      t.equal((await post(`${gateway.origin}/greeter/nothing`)).status, 200)
    t.ok(performance.now() - startMs < 4000)
    t.same(gateway.ejected, [address])
    t.equal(silent.connections.length, 1)
  },
)

t.test('rejects an invalid deadline with 400', async (t) => {
  const { url, services } = await open(t, [{}])
  for (const headers of [{ timeout: 'soon' }, { timeout: '-1' }, { 'grpc-timeout': '5' }]) {
    const { status, json } = await send(`${url}/nothing`, { headers } as RequestInit)
    t.equal(status, 400)
    t.match(json, { Id: 'go.mx.api.greeter', Code: 400, Detail: /imeout/ })
  }
  t.same(services[0]?.calls, [])
})

for (const [name, listener] of Object.entries(LISTENERS)) {
  for (const protocol of FORMS) {
    t.test(
      `${name}, ${protocol}: a client disconnect aborts the signal of the handler`,
      async (t) => {
        const { gateway, calls, services } = await open(t, [{ protocol }, { protocol }], {
          listener,
        })
        for (const method of ['GET', 'POST']) {
          const request = httpRequest({
            port: gateway.port,
            host: '127.0.0.1',
            path: '/greeter/wait',
            method,
            agent: false,
          })
          request.on('error', () => {})
          request.end()
          const before = totalCalls(services)
          await waitUntil(() => totalCalls(services) === before + 1)
          request.destroy()
        }
        await waitUntil(() => calls.aborted.length === 2)
        t.same(calls.aborted, ['AbortError', 'AbortError'])
        await gateway.gateway.idle()
        t.equal(totalCalls(services), 2, 'no retry after a disconnect')
        t.same(await activeNodes(gateway), [0, 0])
      },
    )

    t.test(
      `${name}, ${protocol}: a client disconnect during its body calls no service`,
      async (t) => {
        const { gateway, services } = await open(t, [{ protocol }], { listener })
        const request = httpRequest({
          port: gateway.port,
          host: '127.0.0.1',
          path: '/greeter/echo',
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-length': 100 },
          agent: false,
        })
        request.on('error', () => {})
        request.write('{"a":')
        await waitUntil(() => gateway.gateway.inFlight === 1)
        request.destroy()
        await gateway.gateway.idle()
        t.same(services[0]?.calls, [])
      },
    )
  }
}

t.test('mx: a connection lost during a call results in 502 without a retry', async (t) => {
  let nodes: readonly MxService[] = []
  const disconnect = (i: number) => (): boolean => {
    nodes[i]!.cut()
    return true
  }
  const { url, services, gateway } = await open(t, [{ intercept: disconnect(0) }, {}])
  nodes = services
  for (const method of ['GET', 'HEAD', 'POST']) {
    const replies = [
      await send(`${url}/nothing`, { method }),
      await send(`${url}/nothing`, { method }),
    ].sort((a, b) => a.status - b.status)
    t.same(
      replies.map(({ status }) => status),
      [200, 502],
      method,
    )
    if (method !== 'HEAD')
      t.match(replies[1]!.json, { Detail: 'bad gateway: the service closed the connection' })
  }
  t.same(
    services.map(({ calls }) => calls.length),
    [3, 3],
  )
  t.same(await activeNodes(gateway), [0, 0])
})

t.test('http: a connection lost during a call results in 502 without a retry', async (t) => {
  const backend = await openRawBackend(t, { onRequest: ({ socket }) => socket.destroy() })
  const service = await openMxService(t, createGreeter(), { protocol: 'http' })
  const address = `127.0.0.1:${backend.port}`
  const stopping: Service = {
    ...service.entry,
    nodes: [{ id: address, address, metadata: { protocol: 'http' } }],
  }
  const gateway = await openRpcGateway(t, [service.entry, stopping])
  const url = `${gateway.origin}/greeter/nothing`
  for (const method of ['GET', 'POST']) {
    const statuses = [await send(url, { method }), await send(url, { method })]
    t.same(statuses.map(({ status }) => status).sort(), [200, 502], method)
  }
})

t.test('no call fails while a service sends GOAWAY', async (t) => {
  const { url, services, gateway } = await open(t, [{}])
  const statuses: Promise<number>[] = []
  for (let i = 0; i < 200; i++) {
    statuses.push(post(`${url}/nothing`).then(({ status }) => status))
    if (i % 20 === 0) {
      await waitUntil(() => services[0]!.connections.length > 0)
      services[0]!.connections.at(-1)!.goAway()
    }
  }
  t.ok((await Promise.all(statuses)).every((status) => status === 200))
  t.equal(services[0]?.calls.length, 200)
  t.same(gateway.ejected, [])
})

t.test('a registered service without a usable node returns 503', async (t) => {
  const service = await openMxService(t, createGreeter())
  const [node] = service.entry.nodes
  const unusable = { ...node!, metadata: { protocol: 'pigeon' } }
  const gateway = await openRpcGateway(t, [{ ...service.entry, nodes: [unusable] }])
  const { status, json } = await send(`${gateway.origin}/greeter/nothing`)
  t.equal(status, 503)
  t.strictSame(json, {
    Id: 'go.mx.api.greeter',
    Code: 503,
    Detail: 'no node of go.mx.api.greeter is available',
    Status: 'Service Unavailable',
  })
})

t.test(
  'http: a call beyond the connection limit of a node fails with 503 and Retry-After',
  async (t) => {
    const calls = createGreeterLog()
    const service = await openMxService(t, createGreeter(calls), { protocol: 'http' })
    const timeouts = { connectMs: 1000, replyMs: 1000, idleMs: 1000 }
    const gateway = await openRpcGateway(t, [service.entry], {
      upstream: {
        createPool: (address) =>
          new Pool({ ...address, timeouts, keepAliveMs: 1000, maxConnections: 1, maxWaiting: 0 }),
      },
    })
    const controller = new AbortController()
    const first = fetch(`${gateway.origin}/greeter/wait`, { signal: controller.signal })
    await waitUntil(() => service.calls.length === 1)
    const { status, headers, json } = await send(`${gateway.origin}/greeter/nothing`)
    t.equal(status, 503)
    t.equal(headers.get('retry-after'), '1')
    t.match(json, { Code: 503 })
    controller.abort()
    await t.rejects(first)
    t.same(gateway.ejected, [], 'a busy node is not ejected')
  },
)

t.test('malformed responses result in 502, and the log contains the reason', async (t) => {
  const malformed = 'bad gateway: malformed response from go.mx.api.greeter'
  const created = 'HTTP/1.1 201 Created\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n'
  const responses: [response: string, reason: string][] = [
    [
      created,
      'status 201, content type text/html; calls expect 200, plain HTTP backends require --handler=proxy',
    ],
    ['nonsense\r\n\r\n', 'status line must be HTTP/1.1, a code of three digits and a reason'],
  ]
  for (const [response, reason] of responses) {
    const backend = await openRawBackend(t, {
      onRequest: (connection) => connection.send(response),
    })
    const service = await openMxService(t, createGreeter(), { protocol: 'http' })
    const address = `127.0.0.1:${backend.port}`
    const node = { id: address, address, metadata: { protocol: 'http' } }
    const gateway = await openRpcGateway(t, [{ ...service.entry, nodes: [node] }])
    const { status, json } = await post(`${gateway.origin}/greeter/nothing`)
    t.equal(status, 502)
    t.match(json, { Id: 'go.mx.api.greeter', Code: 502, Detail: malformed })
    t.equal(gateway.exchanges[0]?.failure, `${malformed}: ${reason}`)
  }
})

t.test(
  'mx: a node that does not support the protocol is ejected, and the only node returns 502',
  async (t) => {
    const response = 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n'
    const backend = await openRawBackend(t, {
      onRequest: (connection) => connection.send(response),
    })
    const address = `127.0.0.1:${backend.port}`
    const otherProtocol = { id: 'foreign', address, metadata: { protocol: 'mx' } }
    const service = await openMxService(t, createGreeter())
    const { nodes } = service.entry
    const single = await openRpcGateway(t, [{ ...service.entry, nodes: [otherProtocol] }])
    const { status, json } = await post(`${single.origin}/greeter/nothing`)
    t.equal(status, 502)
    t.match(json, {
      Detail: /does not speak the call protocol/,
    })
    const otherGateway = await openRpcGateway(t, [
      { ...service.entry, nodes: [otherProtocol, ...nodes] },
    ])
    for (let i = 0; i < 4; i++)
      t.equal((await post(`${otherGateway.origin}/greeter/nothing`)).status, 200)
    t.same(otherGateway.ejected, ['foreign'])
  },
)
