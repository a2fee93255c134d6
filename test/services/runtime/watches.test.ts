import t from 'tap'
import type { WatchMessage } from '../../../services/runtime/watches.ts'
import { toPlain } from '../../fixtures/deployer.ts'
import { openPlatformRuntime } from '../../fixtures/platform-runtime.ts'

t.test(
  'who watches gets all there are, then each change, until what it named is gone',
  async (t) => {
    const runtime = await openPlatformRuntime(t)
    const watch = (options: object) =>
      runtime.client.stream<unknown, WatchMessage>('runtime', 'Runtime.Watch', { options })
    t.same(await watch({ service: 'shop' }).next(), { done: true, value: undefined })

    await runtime.create('shop', toPlain('one'))
    await runtime.settled('shop')
    const named = watch({ service: 'shop' })
    t.match((await named.next()).value, { action: 'write', service: { name: 'shop', status: 4 } })
    const others = watch({ type: 'other' })
    await runtime.create('late', toPlain('two'), { type: 'other' })
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
  },
)

t.test('who watches is told that the service is stopped, and nobody new is taken', async (t) => {
  const runtime = await openPlatformRuntime(t)
  await runtime.create('shop', toPlain('one'))
  await runtime.settled('shop')
  const watch = runtime.client.stream('runtime', 'Runtime.Watch', { options: {} })
  await watch.next()
  const next = t.rejects(watch.next(), { code: 503, message: 'the runtime is being stopped' })
  await runtime.close()
  await next
})
