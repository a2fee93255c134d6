import t from 'tap'
import { createRouteReceiver } from '../../../domain/mesh/route-receiver.ts'
import type { AdvertisedRoute } from '../../../domain/mesh/routing-table.ts'

/** Returns the received routes. Limits are tested with the advertiser (route-advertiser.test.ts). */
function open() {
  const applied: [peer: string, key: string, advertised: AdvertisedRoute | undefined][] = []
  const receive = createRouteReceiver({ applyRoute: (...args) => void applied.push(args) }, 'b')
  return { applied, receive }
}

const advertisement = { path: ['b'], metric: 0, entry: '1' }

t.test('stores routes received from a peer', (t) => {
  const { applied, receive } = open()
  receive([
    { key: 'greeter', advertised: advertisement },
    { key: '@b', advertised: advertisement },
    { key: 'greeter', advertised: undefined },
  ])
  t.strictSame(applied, [
    ['b', 'greeter', advertisement],
    ['b', '@b', advertisement],
    ['b', 'greeter', undefined],
  ])
  t.end()
})

t.test('rejects built-in services advertised by a peer', (t) => {
  const { applied, receive } = open()
  receive([
    { key: 'store', advertised: advertisement },
    { key: 'greeter', advertised: advertisement },
    { key: '@store', advertised: advertisement },
  ])
  t.strictSame(
    applied.map(([, key]) => key),
    ['greeter', '@store'],
  )
  t.end()
})

t.test('rejects a path that omits the advertising peer', (t) => {
  const { receive } = open()
  t.throws(() => receive([{ key: 'greeter', advertised: { ...advertisement, path: ['c'] } }]), {
    name: 'TypeError',
    message: 'path of greeter must start with b, which advertises it',
  })
  t.end()
})
