import { resolvers } from '../../../resolvers/index.gen.ts'
import { BenchExchange } from '../bench-exchange.ts'
import type { Micro } from '../micro.ts'

const x = new BenchExchange([], '/v1/greeter/hello/world', 'greeter.example.com')
x.namespace = 'go.mx.api'

const benches: Record<string, () => unknown> = {}
for (const [name, resolver] of Object.entries(resolvers)) {
  // Resolvers that require a registry have separate benchmarks, such as endpoint-matcher.
  if (typeof resolver === 'function') continue
  benches[`${name}, key`] = () => resolver.key(x)
  benches[`${name}, resolve`] = () => resolver.resolve(x)
}

const micro: Micro = { benches }

export default micro
