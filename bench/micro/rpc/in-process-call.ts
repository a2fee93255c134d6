import { Type } from '../../../core/schema.ts'
import { Client } from '../../../sdk/client/client.ts'
import { createContext } from '../../../sdk/context.ts'
import { createServiceLog } from '../../../sdk/log/service-log.ts'
import { cloneJson } from '../../../sdk/schema/clone-json.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { Service } from '../../../sdk/service/service.ts'
import type { Micro } from '../micro.ts'

const ORDER = {
  id: 9_007_199_254,
  customer: { name: 'John', email: 'john@example.com' },
  items: Array.from({ length: 5 }, (_, i) => ({ sku: `sku-${i}`, count: i, price: 1.5 * i })),
}
const Order = Type.Object({
  id: Type.Integer(),
  customer: Type.Object({ name: Type.String(), email: Type.String() }),
  items: Type.Array(
    Type.Object({ sku: Type.String(), count: Type.Integer(), price: Type.Number() }),
  ),
})

const service = new Service({
  name: 'helloworld',
  log: createServiceLog({ service: 'helloworld', write: () => {} }),
}).handle('Helloworld', {
  call: endpoint({
    request: Type.Object({ name: Type.String() }),
    response: Type.Object({ message: Type.String() }),
    handle: ({ name }) => ({ message: `Hello ${name}` }),
  }),
  order: endpoint({ request: Order, response: Order, handle: (order) => order }),
})
const client = new Client({ services: [service] })
const { Helloworld } = client.service<typeof service>('helloworld')
const context = createContext({ metadata: { 'x-request-id': 'r-1', 'accept-language': 'de' } })
const options = { context }
const john = { name: 'John' }

const micro: Micro = {
  benches: {
    'a small message': () => Helloworld.call(john),
    'a small message, by name': () => client.call('helloworld', 'Helloworld.Call', john),
    'a small message, during a served call': () => Helloworld.call(john, options),
    'five items, both ways': () => Helloworld.order(ORDER),
    'cloneJson: a small message': () => cloneJson(john),
    'cloneJson: five items': () => cloneJson(ORDER),
    'JSON round trip: a small message': () => JSON.parse(JSON.stringify(john)),
    'JSON round trip: five items': () => JSON.parse(JSON.stringify(ORDER)),
    'structuredClone: a small message': () => structuredClone(john),
    'structuredClone: five items': () => structuredClone(ORDER),
  },
  budgetNs: {
    'a small message': 3000,
  },
  close: () => client.close(),
}

export default micro
