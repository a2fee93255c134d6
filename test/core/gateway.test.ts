import t from 'tap'
import type { Plugin, Step } from '../../core/chain.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { Gateway } from '../../core/gateway.ts'
import { RequestMetrics } from '../../core/metrics/request-metrics.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import { createTestExchange } from '../../sdk/testing.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'

function open(handle: Step, plugins: readonly Plugin[] = [], parkTimeoutMs = 60_000) {
  const faults: unknown[] = []
  const route: Step = (x) => {
    x.route = { service: 'app', endpoint: '' }
  }
  const chain = compileChain(plugins, route, handle)
  const gateway = new Gateway({
    chain,
    onFault: (error) => faults.push(error),
    parkTimeoutMs: () => parkTimeoutMs,
  })
  t.teardown(() => gateway.close())
  const serve = (request = {}) => {
    const x = createTestExchange(request)
    gateway.handle(x)
    return x
  }
  return { gateway, chain, faults, serve, route }
}

t.test(
  'an exchange runs through the chain and counts as in flight until it finishes',
  async (t) => {
    let waiting: Exchange | undefined
    const { gateway, serve } = open((x) => {
      waiting = x
    })
    const x = serve()
    t.equal(gateway.inFlight, 1)
    waiting!.reply(200, 'done')
    await x.done
    t.equal(x.body, 'done')
    t.equal(gateway.inFlight, 0)
  },
)

t.test('finished requests are counted by status class, and disconnects as aborted', async (t) => {
  const metrics = new RequestMetrics()
  const chain = compileChain(
    [],
    () => {},
    (x) => {
      if (x.path === '/fails') throw new GatewayError('app', 403, 'no')
      if (x.path !== '/waits') x.reply(200)
    },
  )
  const gateway = new Gateway({ chain, onFault: () => {}, metrics })
  t.teardown(() => gateway.close())
  t.equal(gateway.chain, chain)
  const serve = (path: string) => {
    const x = createTestExchange({ path })
    gateway.handle(x)
    return x
  }
  serve('/')
  serve('/fails')
  const waiting = serve('/waits')
  t.equal(metrics.requests, 2, 'a pending request is not counted')
  waiting.disconnect()
  t.strictSame([...metrics.byClass.slice(0, 5)], [1, 0, 1, 0, 1])
  t.equal(metrics.aborted, 1)
})

t.test('a malformed request gets its error response and is not handled', async (t) => {
  const { gateway } = open(() => {
    t.fail('handled')
  })
  const x = createTestExchange()
  x.malformed = new GatewayError('go.mx.api', 400, 'bad framing')
  gateway.handle(x)
  t.equal(x.status, 400)
  t.match(JSON.parse(x.body), { Detail: 'bad framing' })
})

t.test(
  'a thrown GatewayError is sent as the response; other errors return 500 and are reported as faults',
  async (t) => {
    const bug = new Error('bug')
    const cases: [Step, number, string, unknown[]][] = [
      [
        () => {
          throw new GatewayError('app', 403, 'no')
        },
        403,
        'no',
        [],
      ],
      [
        async () => {
          throw new GatewayError('app', 403, 'no')
        },
        403,
        'no',
        [],
      ],
      [
        () => {
          throw bug
        },
        500,
        'internal error',
        [bug],
      ],
      [() => Promise.reject(bug), 500, 'internal error', [bug]],
      [
        () => {
          throw undefined
        },
        500,
        'internal error',
        [undefined],
      ],
    ]
    for (const [handle, status, detail, reported] of cases) {
      const { serve, faults, gateway } = open(handle)
      const x = serve()
      await x.done
      t.equal(x.status, status)
      t.match(JSON.parse(x.body), { Id: 'app', Code: status, Detail: detail })
      t.strictSame(faults, reported)
      t.equal(gateway.inFlight, 0)
    }
  },
)

t.test('an error with invalid headers returns 500 and is reported as a fault', async (t) => {
  const { serve, faults } = open(() => {
    throw new GatewayError('app', 400, 'x', { headers: ['a', 'b\r\nc: d'] })
  })
  const x = serve()
  await x.done
  t.equal(x.status, 500)
  t.equal(faults.length, 1)
  t.match(faults[0], { name: 'TypeError' })
})

t.test('an error after the response started cuts the connection', async (t) => {
  const { serve } = open(async (x) => {
    x.start(200, x.replyHeaders, -1)
    x.write(Buffer.from('half'))
    throw new Error('late')
  })
  const x = serve()
  await x.done
  t.equal(x.wasCut, true)
  t.equal(x.aborted, true)
})

t.test(
  'a step that does not respond in time returns 504, unless its response has started',
  async (t) => {
    const late = new Map<string, () => void>()
    const handle: Step = (x) =>
      new Promise<void>((resolve) => {
        if (x.path === '/begun') x.start(200, x.replyHeaders, -1)
        late.set(x.path, () => {
          if (x.path === '/begun') x.end()
          else x.reply(200, 'late')
          resolve()
        })
      })
    const { serve, gateway } = open(handle, [], 1)
    const started = serve({ path: '/begun' })
    const silent = serve({ path: '/silent' })
    await waitUntil(() => silent.finished)
    t.equal(silent.status, 504)
    t.match(JSON.parse(silent.body), {
      Id: 'app',
      Detail: 'gateway timeout: no response within 1 ms',
    })
    t.equal(started.finished, false)
    for (const finish of late.values()) finish()
    t.notMatch(silent.body, /late/, 'its late response is ignored')
    t.equal(started.status, 200)
    t.equal(started.aborted, false)
    t.equal(gateway.inFlight, 0)
  },
)

t.test(
  'new exchanges use the new chain, the old chain closes after its last exchange',
  async (t) => {
    const log: string[] = []
    const plugin = (name: string): Plugin => ({
      name,
      close: () => void log.push(`${name} closed`),
    })
    const pending: Exchange[] = []
    const { gateway, serve, route } = open((x) => void pending.push(x), [plugin('old')])
    const first = serve()
    const second = serve()
    const next = compileChain([plugin('new')], route, (x) => x.reply(200, 'new'))
    gateway.use(next)
    gateway.use(next)
    t.equal(serve().body, 'new')
    pending[0]!.reply(200, 'old')
    t.strictSame(log, [])
    pending[1]!.reply(200, 'old')
    await Promise.all([first.done, second.done])
    await new Promise((resolve) => setImmediate(resolve))
    t.strictSame(log, ['old closed'])
    gateway.use(compileChain([plugin('last')], route, (x) => x.reply(200)))
    await new Promise((resolve) => setImmediate(resolve))
    t.strictSame(log, ['old closed', 'new closed'], 'an idle chain closes immediately')
    await gateway.close()
    t.strictSame(log, ['old closed', 'new closed', 'last closed'])
  },
)

t.test('a chain closes once, even when its last exchange outlives the gateway', async (t) => {
  const log: string[] = []
  const plugin = (name: string): Plugin => ({ name, close: () => void log.push(`${name} closed`) })
  const pending: Exchange[] = []
  const { gateway, serve, route, faults } = open((x) => void pending.push(x), [plugin('old')])
  serve()
  const failing: Plugin = { name: 'new', close: () => Promise.reject(new Error('stuck')) }
  gateway.use(compileChain([failing], route, (x) => x.reply(200)))
  await gateway.close()
  pending[0]!.reply(200)
  await gateway.idle()
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(log, ['old closed'])
  t.match(faults, [{ message: 'stuck' }])
})

t.test('idle resolves after the last exchange, even when the client disconnects', async (t) => {
  const { gateway, serve } = open(() => {})
  await gateway.idle()
  const x = serve()
  const y = serve()
  let idle = false
  const waiting = gateway.idle().then(() => {
    idle = true
  })
  x.reply(200)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(idle, false)
  y.disconnect()
  await waiting
  t.equal(gateway.inFlight, 0)
})

t.test('faults are reported with their exchange, plugin and hook', async (t) => {
  const bug = new Error('bug')
  const raise = () => {
    throw bug
  }
  const reports: unknown[][] = []
  const route = () => {}
  const handle: Step = (x) => x.reply(200)
  const getChain = (hooks: Partial<Plugin>) =>
    compileChain([{ name: 'faulty', ...hooks }], route, handle)
  const gateway = new Gateway({
    chain: getChain({}),
    onFault: (error, x, stage) => reports.push([error, x?.path, stage?.plugin, stage?.hook]),
  })
  t.teardown(() => gateway.close())
  for (const hook of ['onRequest', 'onRoute', 'onReply', 'onDone', 'close'] as const) {
    gateway.use(getChain({ [hook]: raise }))
    if (hook === 'close') continue
    const x = createTestExchange({ path: `/${hook}` })
    gateway.handle(x)
    await x.done
    t.equal(x.status, hook === 'onDone' ? 200 : 500)
    t.strictSame(reports.pop(), [bug, `/${hook}`, 'faulty', hook])
  }
  gateway.use(getChain({}))
  await waitUntil(() => reports.length > 0)
  t.strictSame(reports, [[bug, undefined, 'faulty', 'close']])
})
