import t from 'tap'
import { type Plugin, runSteps } from '../../core/chain.ts'
import { compileChain } from '../../core/plugin/compile-chain.ts'
import { toRoute } from '../../core/route.ts'
import { createTestExchange } from '../../sdk/testing.ts'

const rethrow = (error: unknown) => {
  throw error
}

function recorder(): { log: string[]; plugin: (name: string, extra?: Partial<Plugin>) => Plugin } {
  const log: string[] = []
  const logStep = (text: string) => () => void log.push(text)
  const plugin = (name: string, extra: Partial<Plugin> = {}): Plugin => ({
    name,
    onRequest: logStep(`${name} request`),
    onRoute: logStep(`${name} route`),
    onReply: logStep(`${name} reply`),
    onDone: logStep(`${name} done`),
    close: logStep(`${name} close`),
    ...extra,
  })
  return { log, plugin }
}

t.test(
  'hooks run in the order of the plugin list, before and after routing and handling',
  async (t) => {
    const { log, plugin } = recorder()
    const chain = compileChain(
      [plugin('a'), plugin('b')],
      () => void log.push('resolve'),
      (x) => {
        log.push('handle')
        x.reply(200)
      },
    )
    const x = createTestExchange()
    x.begin(chain, () => log.push('finished'), rethrow)
    t.equal(runSteps(chain.steps, x), undefined, 'no promise without an asynchronous step')
    t.strictSame(log, [
      'a request',
      'b request',
      'resolve',
      'a route',
      'b route',
      'handle',
      'a reply',
      'b reply',
      'a done',
      'b done',
      'finished',
    ])
    await chain.close(rethrow)
    t.strictSame(log.slice(-2), ['b close', 'a close'])
  },
)

t.test('the other plugins are closed when the close hook of one plugin fails', async (t) => {
  const { log, plugin } = recorder()
  const first = new Error('first')
  const last = new Error('last')
  const chain = compileChain(
    [
      plugin('a', { close: () => Promise.reject(first) }),
      plugin('b'),
      plugin('c', {
        close: () => {
          throw last
        },
      }),
    ],
    () => {},
    () => {},
  )
  const faults: unknown[][] = []
  await chain.close((...fault) => faults.push(fault))
  t.strictSame(log, ['b close'])
  t.strictSame(faults, [
    [last, undefined, { plugin: 'c', hook: 'close' }],
    [first, undefined, { plugin: 'a', hook: 'close' }],
  ])
})

t.test('plugins add no step to the chain for hooks they do not define', async (t) => {
  const chain = compileChain(
    [{ name: 'empty' }, { name: 'one', onRoute: () => {} }],
    () => {},
    () => {},
  )
  t.equal(chain.steps.length, 3)
  t.equal(chain.onReply.length, 0)
  t.equal(chain.onDone.length, 0)
})

t.test('the chain stops after a step that replies', async (t) => {
  const { log, plugin } = recorder()
  const chain = compileChain(
    [plugin('a', { onRequest: (x) => x.reply(403) }), plugin('b')],
    () => void log.push('resolve'),
    () => void log.push('handle'),
  )
  const x = createTestExchange()
  x.begin(chain, () => {}, rethrow)
  void runSteps(chain.steps, x)
  t.equal(x.status, 403)
  t.strictSame(log, ['a reply', 'b reply', 'a done', 'b done'])
})

t.test('the chain continues after a step whose promise resolves', async (t) => {
  const log: string[] = []
  let release: () => void = () => {}
  const pending = new Promise<void>((resolve) => {
    release = resolve
  })
  const steps = [
    () => void log.push('1'),
    () => pending,
    () => void log.push('3'),
    async () => void log.push('4'),
    () => void log.push('5'),
  ]
  const x = createTestExchange()
  const done = runSteps(steps, x)
  t.type(done, Promise)
  t.strictSame(log, ['1'])
  release()
  await done
  t.strictSame(log, ['1', '3', '4', '5'])
})

t.test('the chain stops if a response is sent while a step is pending', async (t) => {
  const log: string[] = []
  const x = createTestExchange()
  x.begin(
    compileChain(
      [],
      () => {},
      () => {},
    ),
    () => {},
    rethrow,
  )
  const done = runSteps([async () => {}, () => void log.push('late')], x)
  x.reply(504)
  await done
  t.strictSame(log, [])
})

t.test('hooks can use `this`', async (t) => {
  class Counter implements Plugin {
    readonly name = 'counter'
    count = 0
    onRequest() {
      this.count++
    }
    onReply() {
      this.count++
    }
    onDone() {
      this.count++
    }
  }
  const plugin = new Counter()
  const chain = compileChain(
    [plugin],
    () => {},
    (x) => x.reply(200),
  )
  const x = createTestExchange()
  x.begin(chain, () => {}, rethrow)
  void runSteps(chain.steps, x)
  t.equal(plugin.count, 3)
})

t.test('runSteps throws or rejects with the error of a step', async (t) => {
  const x = createTestExchange()
  t.throws(
    () =>
      runSteps(
        [
          () => {
            throw new Error('sync')
          },
        ],
        x,
      ),
    /sync/,
  )
  await t.rejects(
    Promise.resolve(
      runSteps(
        [
          async () => {},
          () => {
            throw new Error('late')
          },
        ],
        x,
      ),
    ),
    /late/,
  )
})

t.test('a failed step is identified by its plugin and hook', async (t) => {
  const throwError = () => {
    throw new Error('bug')
  }
  const throwLater = async () => throwError()
  const cases: [Partial<Plugin>, object][] = [
    [{ onRequest: throwError }, { plugin: 'faulty', hook: 'onRequest' }],
    [{ onRequest: throwLater }, { plugin: 'faulty', hook: 'onRequest' }],
    [{ onRoute: throwError }, { plugin: 'faulty', hook: 'onRoute' }],
    [
      { onRequest: async () => {}, onRoute: throwError },
      { plugin: 'faulty', hook: 'onRoute' },
    ],
    [{ onRequest: async () => {} }, { plugin: undefined, hook: 'handle' }],
  ]
  for (const [hooks, stage] of cases) {
    const { plugin } = recorder()
    const chain = compileChain(
      [{ name: 'empty' }, plugin('before'), { name: 'faulty', ...hooks }, plugin('behind')],
      () => {},
      throwError,
    )
    const x = createTestExchange()
    x.begin(chain, () => {}, rethrow)
    await t.rejects(async () => runSteps(chain.steps, x), /bug/)
    t.same(chain.stages.steps[x.step], stage)
    for (const list of ['steps', 'onReply', 'onDone'] as const)
      t.equal(chain.stages[list].length, chain[list].length)
  }
})

t.test(
  'plugins of a scope run after routing and replace gateway plugins of the same name',
  async (t) => {
    const { log, plugin } = recorder()
    const scoped = { ...plugin('b'), onRequest: () => void log.push('own b request') }
    const chain = compileChain(
      [plugin('a'), plugin('b')],
      (x) => {
        log.push('resolve')
        x.route = toRoute(x.path.slice(1), '')
      },
      (x) => {
        log.push('handle')
        x.reply(200)
      },
      { routes: new Map([['scoped', [scoped, plugin('c')]]]) },
    )
    const run = (path: string): string[] => {
      log.length = 0
      const x = createTestExchange({ path })
      x.begin(chain, () => {}, rethrow)
      void runSteps(chain.steps, x)
      return [...log]
    }
    t.strictSame(run('/scoped'), [
      ...['a request', 'resolve', 'own b request', 'c request', 'a route', 'b route', 'c route'],
      ...['handle', 'a reply', 'b reply', 'c reply', 'a done', 'b done', 'c done'],
    ])
    t.strictSame(
      run('/other'),
      [
        ...['a request', 'resolve', 'b request', 'a route', 'b route'],
        ...['handle', 'a reply', 'b reply', 'a done', 'b done'],
      ],
      'without a scope, the gateway plugins run, a replaceable one after routing',
    )
    log.length = 0
    await chain.close(rethrow)
    t.strictSame(log.sort(), ['a close', 'b close', 'b close', 'c close'])
  },
)

t.test('a chain without scopes has no step for them', async (t) => {
  const noop = () => {}
  const plain = compileChain([], noop, noop)
  t.equal(plain.steps.length, 2)
  t.equal(compileChain([], noop, noop, { routes: new Map([['x', []]]) }).steps.length, 3)
})

t.test('an error after routing names the plugin of the scope', async (t) => {
  const failing: Plugin = {
    name: 'late',
    onRoute() {
      throw new Error('bug')
    },
  }
  const chain = compileChain(
    [],
    (x) => {
      x.route = toRoute('scoped', '')
    },
    () => {},
    { routes: new Map([['scoped', [failing]]]) },
  )
  const x = createTestExchange()
  x.begin(chain, () => {}, rethrow)
  t.throws(() => void runSteps(chain.steps, x), /bug/)
  t.strictSame(x.chain.stages.steps[x.step], { plugin: 'late', hook: 'onRoute' })
})
