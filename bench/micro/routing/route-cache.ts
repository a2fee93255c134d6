import { RouteCache } from '../../../core/route-cache.ts'
import { createDirectory, createService } from '../gateway-parts.ts'
import type { Micro } from '../micro.ts'

const directory = createDirectory([createService('go.mx.api.greeter', 1)])
const upstream = await directory.find('go.mx.api.greeter')
if (upstream === undefined) throw new Error('service not found')
const cached = { route: { service: 'go.mx.api.greeter', endpoint: '' }, upstream, generation: 1 }

/** Creates a full cache of `size` routes, and a function that looks them up in round-robin order. */
function createLookUp(size: number): () => unknown {
  const cache = new RouteCache({ max: size })
  const keys = Array.from({ length: size }, (_, i) => `go.mx.api\n/service${i}`)
  for (const key of keys) cache.set(key, cached)
  let next = 0
  return () => {
    next = next + 1 === size ? 0 : next + 1
    return cache.get(keys[next]!, 1)
  }
}

const overflowing = new RouteCache({ max: 1000 })
let fresh = 0

const micro: Micro = {
  benches: {
    'get, 10 routes': createLookUp(10),
    'get, 1 000 routes': createLookUp(1000),
    'get, 100 000 routes': createLookUp(100_000),
    'set, evicting the oldest of 1 000': () =>
      overflowing.set(`go.mx.api\n/service${fresh++}`, cached),
  },
  close: () => directory.close(),
}

export default micro
