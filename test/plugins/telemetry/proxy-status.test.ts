import { createServer, type Server } from 'node:net'
import t, { type Test } from 'tap'
import plugin from '../../../plugins/telemetry/proxy-status.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'
import { openGateway } from '../../fixtures/gateway.ts'
import { listen } from '../../fixtures/listen.ts'

const built = buildPlugin(plugin)

/** A backend that handles every connection with `handle`. */
async function openBackend(t: Test, response: string | undefined): Promise<number> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => {
      if (response === undefined) socket.destroy()
      else if (response !== '') socket.end(response)
    })
    t.teardown(() => socket.destroy())
  })
  return listen(t, server)
}

async function status(origin: string, path: string): Promise<[number, string | null]> {
  const reply = await fetch(`${origin}${path}`)
  await reply.arrayBuffer()
  return [reply.status, reply.headers.get('proxy-status')]
}

t.test('reports the cause of an error response of the gateway', async (t) => {
  const { origin } = await openGateway(
    t,
    {
      refusing: [1],
      nowhere: ['no-such-host.invalid:80'],
      cutting: [await openBackend(t, undefined)],
      silent: [await openBackend(t, '')],
      babbling: [await openBackend(t, 'hello\r\n\r\n')],
      failing: [
        await openBackend(
          t,
          'HTTP/1.1 502 Bad\r\ncontent-length: 0\r\nproxy-status: other; error=dns_error\r\n\r\n',
        ),
      ],
      well: [await openBackend(t, 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')],
    },
    {
      plugins: [built],
      pool: { timeouts: { connectMs: 5000, replyMs: 300, idleMs: 300 } },
    },
  )
  const cases: readonly [path: string, code: number, logged: string | null][] = [
    ['/refusing', 502, 'mx; error=connection_refused'],
    ['/nowhere', 502, 'mx; error=dns_error'],
    ['/cutting', 502, 'mx; error=connection_terminated'],
    ['/silent', 504, 'mx; error=http_response_timeout'],
    ['/babbling', 502, 'mx; error=http_protocol_error'],
    ['/unknown', 404, 'mx; error=destination_not_found'],
    ['/failing', 502, 'other; error=dns_error'],
    ['/well', 200, null],
  ]
  for (const [path, code, logged] of cases) t.same(await status(origin, path), [code, logged], path)
})

t.test('includes the node only with nextHop', async (t) => {
  const port = await openBackend(t, 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  const edge = buildPlugin(plugin, { name: 'edge', nextHop: true })
  const { origin } = await openGateway(t, { well: [port], refusing: [1] }, { plugins: [edge] })
  t.same(await status(origin, '/well'), [200, `edge; next-hop="127.0.0.1:${port}"`])
  t.same(await status(origin, '/refusing'), [
    502,
    'edge; error=connection_refused; next-hop="127.0.0.1:1"',
  ])
  t.same(await status(origin, '/unknown'), [404, 'edge; error=destination_not_found'])
})

t.test('rejects a name that is not a token', async (t) => {
  for (const name of ['', 'a b', '1st', 'a"b', 'a\r\nb'])
    t.throws(() => buildPlugin(plugin, { name }), /name/, name)
  const { headers } = await runPlugin(built)
  t.notOk(headers.has('proxy-status'))
})
