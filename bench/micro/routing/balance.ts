import { createBalancer } from '../../../core/upstream/balance/balancer.ts'
import type { BalanceOptions } from '../../../core/upstream/balance/policy.ts'
import { createRandomBits } from '../../../core/upstream/balance/weighted.ts'
import { DEFAULT_CONCURRENCY } from '../../../core/upstream/concurrency/concurrency-options.ts'
import { DEFAULT_BREAKER } from '../../../core/upstream/health/breaker.ts'
import {
  DEFAULT_POLICIES,
  type UpstreamPolicies,
} from '../../../core/upstream/policies/policies.ts'
import { DEFAULT_HEDGE } from '../../../core/upstream/retry/hedge-options.ts'
import { Upstream } from '../../../core/upstream/upstream.ts'
import { BenchExchange } from '../bench-exchange.ts'
import { createDirectory, createService } from '../gateway-parts.ts'
import type { Micro } from '../micro.ts'

const x = new BenchExchange(['x-user', 'john'])
const KINDS: Readonly<Record<string, BalanceOptions>> = {
  'round-robin': { kind: 'round-robin' },
  random: { kind: 'random' },
  p2c: { kind: 'p2c' },
  'least-conn': { kind: 'least-conn' },
  'hash:ip': { kind: 'hash' },
  'hash:header': { kind: 'hash', hashOf: { from: 'header', name: 'x-user' } },
}

/** Exchanges of different clients, used in round-robin order. */
const clients = Array.from({ length: 16_384 }, (_, i) => new BenchExchange(['x-user', `user-${i}`]))
let index = 0

const benches: Record<string, () => unknown> = {}
const directories = [10, 100].map((count) => createDirectory([createService(`n${count}`, count)]))
for (const [i, count] of [10, 100].entries()) {
  const upstream = await directories[i]!.find(`n${count}`)
  if (upstream === undefined) throw new Error('service not found')
  for (const [name, options] of Object.entries(KINDS)) {
    const balancer = createBalancer(options, upstream.nodes, createRandomBits())
    benches[`${name}, ${count} nodes`] = () => balancer.pick(x, undefined)
  }
  const byUser = createBalancer(KINDS['hash:header']!, upstream.nodes, createRandomBits())
  benches[`hash:header, ${count} nodes, ${clients.length} clients round-robin`] = () => {
    index = (index + 1) & (clients.length - 1)
    return byUser.pick(clients[index]!, undefined)
  }
}

/** All policies that affect the selection of a node. */
const POLICIES: UpstreamPolicies = {
  ...DEFAULT_POLICIES,
  breaker: DEFAULT_BREAKER,
  concurrency: { ...DEFAULT_CONCURRENCY, per: 'node' },
  hedge: DEFAULT_HEDGE,
  slowStartMs: 30_000,
  zone: 'a',
}
const picked: Record<string, number> = {}
for (const kind of ['round-robin', 'p2c', 'ewma'] as const) {
  const upstream = new Upstream(kind, {
    createPool: () => {
      throw new Error('no connections')
    },
    policies: POLICIES,
    balance: { kind },
  })
  upstream.update([createService(kind, 10)])
  upstream.maxPerNode = 100
  const title = `${kind}, 10 nodes, all policies`
  benches[title] = () => upstream.pick(x)
  picked[title] = 60
}

const micro: Micro = {
  benches,
  budgetNs: picked,
  close() {
    for (const directory of directories) directory.close()
  },
}

export default micro
