import t from 'tap'
import { createRouteReceiver } from '../../../domain/mesh/route-receiver.ts'
import type { AdvertisedRoute } from '../../../domain/mesh/routing-table.ts'

/** Returns what the table learns. Limits are tested with the advertiser (route-advertiser.test.ts). */
function open() {
  const learnt: [peer: string, key: string, told: AdvertisedRoute | undefined][] = []
  const hear = createRouteReceiver({ applyRoute: (...args) => void learnt.push(args) }, 'b')
  return { learnt, hear }
}

const result = { path: ['b'], metric: 0, entry: '1' }

t.test('learns routes from a peer', (t) => {
  const { learnt, hear } = open()
  hear([
    { key: 'greeter', advertised: result },
    { key: '@b', advertised: result },
    { key: 'greeter', advertised: undefined },
  ])
  t.strictSame(learnt, [
    ['b', 'greeter', result],
    ['b', '@b', result],
    ['b', 'greeter', undefined],
  ])
  t.end()
})

t.test('rejects built-in services advertised by a peer', (t) => {
  const { learnt, hear } = open()
  hear([
    { key: 'store', advertised: result },
    { key: 'greeter', advertised: result },
    { key: '@store', advertised: result },
  ])
  t.strictSame(
    learnt.map(([, key]) => key),
    ['greeter', '@store'],
  )
  t.end()
})

t.test('rejects a path that omits the advertising peer', (t) => {
  const { hear } = open()
  t.throws(() => hear([{ key: 'greeter', advertised: { ...result, path: ['c'] } }]), {
    name: 'TypeError',
    message: 'path of greeter must begin with b, which advertises it',
  })
  t.end()
})
