import t from 'tap'
import { createRouteReceiver } from '../../../domain/mesh/route-receiver.ts'
import type { AdvertisedRoute } from '../../../domain/mesh/routing-table.ts'

/** Returns what the table learns. Limits are tested with the advertiser (route-advertiser.test.ts). */
function open() {
  const learnt: [peer: string, key: string, told: AdvertisedRoute | undefined][] = []
  const hear = createRouteReceiver({ applyRoute: (...args) => void learnt.push(args) }, 'b')
  return { learnt, hear }
}

const told = { path: ['b'], metric: 0, entry: '1' }

t.test('learns routes from a peer', (t) => {
  const { learnt, hear } = open()
  hear([
    { key: 'greeter', advertised: told },
    { key: '@b', advertised: told },
    { key: 'greeter', advertised: undefined },
  ])
  t.strictSame(learnt, [
    ['b', 'greeter', told],
    ['b', '@b', told],
    ['b', 'greeter', undefined],
  ])
  t.end()
})

t.test('rejects built-in services advertised by a peer', (t) => {
  const { learnt, hear } = open()
  hear([
    { key: 'store', advertised: told },
    { key: 'greeter', advertised: told },
    { key: '@store', advertised: told },
  ])
  t.strictSame(
    learnt.map(([, key]) => key),
    ['greeter', '@store'],
  )
  t.end()
})

t.test('rejects a path that omits the advertising peer', (t) => {
  const { hear } = open()
  t.throws(() => hear([{ key: 'greeter', advertised: { ...told, path: ['c'] } }]), {
    name: 'TypeError',
    message: 'path of greeter must begin with b, which advertises it',
  })
  t.end()
})
