import { createRateLimiter } from '../../plugins/traffic/rate-limit/rate-limiter.ts'
import type { Micro } from './micro.ts'

const CLIENTS = 10_000
const clients = Array.from({ length: CLIENTS }, (_, i) => `192.0.${i >> 8}.${i & 255}`)

/** Requests of many clients, below their limit or far beyond it. */
function createRun(limit: number): () => boolean {
  const limiter = createRateLimiter({ limit, windowMs: 1000, burst: limit, maxKeys: 100_000 })
  let i = 0
  return () => limiter.take(clients[i++ % CLIENTS]!, 1, i * 0.01).isAllowed
}

const micro: Micro = {
  benches: {
    allowed: createRun(1_000_000),
    'mostly rejected': createRun(1),
  },
  budgetNs: { allowed: 150, 'mostly rejected': 150 },
}

export default micro
