import t from 'tap'
import { createWatches, type WatchMessage } from '../../../services/runtime/watches.ts'
import { makePlainProgram } from '../../fixtures/deployer.ts'
import { openPlatformRuntime } from '../../fixtures/platform-runtime.ts'
import { makeRecord } from './parts.ts'

t.test('streams all objects, then changes, until the named object is deleted', async (t) => {
  const runtime = await openPlatformRuntime(t)
  const watch = (options: object) =>
    runtime.client.stream<unknown, WatchMessage>('runtime', 'Runtime.Watch', { options })
  t.same(await watch({ service: 'shop' }).next(), { done: true, value: undefined })

  await runtime.create('shop', makePlainProgram('one'))
  await runtime.settled('shop')
  const named = watch({ service: 'shop' })
  t.match((await named.next()).value, { action: 'write', service: { name: 'shop', status: 4 } })
  const others = watch({ type: 'other' })
  await runtime.create('late', makePlainProgram('two'), { type: 'other' })
  t.match((await others.next()).value, { service: { name: 'late' } })
  await others.return()
  await runtime.call('Delete', 'shop')
  const rest: WatchMessage[] = []
  for await (const message of named) rest.push(message)
  t.match(rest.at(-1), {
    action: 'delete',
    service: { status: 6, metadata: { status: 'stopped' } },
  })
  t.ok(rest.every(({ service }) => service.name === 'shop'))
})

t.test('ends watches when the service stops and rejects new ones', async (t) => {
  const runtime = await openPlatformRuntime(t)
  await runtime.create('shop', makePlainProgram('one'))
  await runtime.settled('shop')
  const watch = runtime.client.stream('runtime', 'Runtime.Watch', { options: {} })
  await watch.next()
  const next = t.rejects(watch.next(), { code: 503, message: 'the runtime is stopping' })
  await runtime.close()
  await next
})

t.test('reports when the server of an object becomes unavailable and returns', async (t) => {
  const record = makeRecord({ status: 'running' })
  const unreachable = new Map<string, number>()
  let notify = (_: ReadonlySet<string>): void => {}
  const watches = createWatches({
    reconciler: { records: new Map([['one', record]]), watch: () => () => {} },
    servers: {
      unreachable: () => unreachable,
      watch(listener) {
        notify = listener
        return () => {}
      },
    },
    owns: () => false,
    nowMs: () => 130_000,
  })
  const expected = { service: 'helloworld', version: '', type: '' }
  const watch = watches.open('mx', expected, 'runtime', { start() {} })[Symbol.asyncIterator]()
  t.match(await watch.next(), { value: { service: { status: 4 } } })
  unreachable.set('one', 10_000)
  notify(new Set(['one', 'other']))
  const error = /^server one, which runs the service, has sent no heartbeat for 2m/
  t.match(await watch.next(), { value: { service: { status: 0, metadata: { error } } } })
  unreachable.clear()
  notify(new Set(['one']))
  t.match(await watch.next(), { value: { service: { status: 4 } } })
  await watch.return!()
})
