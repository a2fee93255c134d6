import { createBalancer } from '../../../core/upstream/balance/balancer.ts'
import type { BalanceOptions } from '../../../core/upstream/balance/policy.ts'
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

/** Exchanges of different clients, used round-robin. */
const clients = Array.from({ length: 16_384 }, (_, i) => new BenchExchange(['x-user', `user-${i}`]))
let index = 0

const benches: Record<string, () => unknown> = {}
const directories = [10, 100].map((count) => createDirectory([createService(`n${count}`, count)]))
for (const [i, count] of [10, 100].entries()) {
  const upstream = await directories[i]!.find(`n${count}`)
  if (upstream === undefined) throw new Error('service not found')
  for (const [name, options] of Object.entries(KINDS)) {
    const balancer = createBalancer(options, upstream.nodes, Math.random)
    benches[`${name}, ${count} nodes`] = () => balancer.pick(x, undefined)
  }
  const byUser = createBalancer(KINDS['hash:header']!, upstream.nodes, Math.random)
  benches[`hash:header, ${count} nodes, ${clients.length} clients round-robin`] = () => {
    index = (index + 1) & (clients.length - 1)
    return byUser.pick(clients[index]!, undefined)
  }
}

const micro: Micro = {
  benches,
  close() {
    for (const directory of directories) directory.close()
  },
}

export default micro
