import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { Agent, request } from 'undici'
import { Exchange } from '../../core/exchange.ts'
import { BalancedCall } from '../../core/rpc/balanced-call.ts'
import { OutgoingCall } from '../../core/rpc/call.ts'
import { GatewayCall } from '../../core/rpc/gateway-call.ts'
import { LISTENERS, openGateway } from '../fixtures/gateway.ts'
import { openRawBackend } from '../fixtures/raw-backend.ts'

setFlagsFromString('--allow-natives-syntax')
const haveSameMap = runInNewContext('(a, b) => %HaveSameMap(a, b)') as (
  a: object,
  b: object,
) => boolean

const agent = new Agent()
t.teardown(() => agent.destroy())

for (const [name, listener] of Object.entries(LISTENERS)) {
  t.test(`exchanges of ${name} have the same hidden class in every hook`, async (t) => {
    const observed = {
      onRequest: [] as Exchange[],
      onReply: [] as Exchange[],
      onDone: [] as Exchange[],
    }
    const keys: string[] = []
    const recordExchange = (stage: keyof typeof observed) => (x: Exchange) => {
      const first = observed[stage][0]
      if (first !== undefined)
        t.equal(haveSameMap(first, x), true, `${stage}: ${x.method} ${x.target}`)
      observed[stage].push(x)
      keys.push(Object.keys(x).join())
    }
    const plugin = {
      name: 'look',
      onRequest: recordExchange('onRequest'),
      onReply: recordExchange('onReply'),
      onDone: recordExchange('onDone'),
    }
    const backend = await openRawBackend(t, {
      onRequest: (server) => {
        if (server.text.includes('/stream'))
          server.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n')
        else server.reply()
      },
    })
    const { origin } = await openGateway(
      t,
      { app: [backend.port] },
      { listener, plugins: [plugin] },
    )
    const requests: [string, object][] = [
      ['/app', {}],
      ['/app?query', { headers: { cookie: 'a=b', 'x-a': ['1', '2'] } }],
      ['/app', { method: 'POST', body: 'x'.repeat(100_000) }],
      ['/app', { method: 'HEAD' }],
      ['/app', { method: 'DELETE' }],
      ['/stream/x', {}],
      ['/app/stream', {}],
      ['/missing', {}],
      ['/app', { headers: { connection: 'close' } }],
    ]
    for (const [path, options] of requests) {
      const { body } = await request(origin + path, { dispatcher: agent, ...options })
      await body.dump()
    }
    t.equal(observed.onRequest.length, requests.length)
    t.equal(
      haveSameMap(observed.onRequest[0]!, observed.onDone[0]!),
      true,
      'no property is added after onRequest',
    )
    t.equal(new Set(keys).size, 1, 'same properties in the same order')
  })
}

t.test('classes instantiated per request define no fields and no private names', async (t) => {
  // Both prevent the compiler from inlining the constructors.
  const defined = /#[a-z]|(?<![.\w])(?:answered|service|over|endless) ?=[^=]/
  for (const type of [Exchange, OutgoingCall, BalancedCall, GatewayCall])
    t.notMatch(String(type), defined, type.name)
})
