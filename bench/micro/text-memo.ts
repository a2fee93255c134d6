import { DirectMappedCache } from '../../lib/collections/direct-mapped-cache.ts'
import type { Micro } from './micro.ts'

const PATHS = Array.from({ length: 100 }, (_, i) => `/service${i}/hello`)
const memo = new DirectMappedCache<string>()
const map = new Map<string, string>()
for (const path of PATHS) {
  memo.set(path, path)
  map.set(path, path)
}
let next = 0

/** Creates a new string, as each request does. */
function arrive(): string {
  next = (next + 1) % PATHS.length
  return Buffer.from(PATHS[next]!, 'latin1').toString('latin1')
}

const micro: Micro = {
  benches: {
    'new string': () => arrive(),
    'new string, found': () => memo.get(arrive()),
    'new string, found in a Map': () => map.get(arrive()),
  },
}

export default micro
