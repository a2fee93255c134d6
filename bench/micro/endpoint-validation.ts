import { Type } from 'typebox'
import { Decode } from 'typebox/value'
import type { CallReceiver, IncomingCall } from '../../core/rpc/call.ts'
import { createServiceLog } from '../../sdk/log/service-log.ts'
import { compileSchema } from '../../sdk/schema/schema.ts'
import { Int64 } from '../../sdk/schema/schema-types.ts'
import { createDispatcher } from '../../sdk/service/dispatch.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import type { Micro } from './micro.ts'

const METADATA =
  'x-request-id: 2f6b9c1e77d04a1c\r\nuser-agent: curl/8.5.0\r\naccept: */*\r\ncontent-type: application/json\r\n'
const NAME = Buffer.from('{"name":"John"}')
const ORDER = Buffer.from(
  JSON.stringify({
    id: '9007199254740993',
    customer: { name: 'John', email: 'john@example.com' },
    items: Array.from({ length: 5 }, (_, i) => ({ sku: `sku-${i}`, count: i, price: 1.5 * i })),
  }),
)
const WRONG = Buffer.from('{"name":5}')

/** A call without caller and transport, which would add to the cost. */
class BenchCall implements IncomingCall {
  readonly service = 'helloworld'
  readonly endpoint: string
  readonly metadata = METADATA
  readonly timeoutMs = 10_000
  readonly body: Uint8Array
  readonly stream = true
  readonly more = false
  readonly isSettled = false
  receiver: CallReceiver = undefined as never
  result: unknown = undefined

  constructor(endpoint: string, body: Uint8Array) {
    this.endpoint = endpoint
    this.body = body
  }

  reply(_metadata: string, body: unknown): void {
    this.result = body
  }
  fail(error: unknown): void {
    this.result = error
  }
  start(): void {}
  sendData(): boolean {
    return true
  }
  endData(): void {}
  consumed(): void {}
}

const Order = Type.Object({
  id: Int64(),
  customer: Type.Object({ name: Type.String(), email: Type.String() }),
  items: Type.Array(
    Type.Object({ sku: Type.String(), count: Type.Integer(), price: Type.Number() }),
  ),
  currency: Type.String({ default: 'EUR' }),
})
const hello = endpoint({
  request: Type.Object({ name: Type.String() }),
  response: Type.Object({ message: Type.String() }),
  handle: ({ name }) => ({ message: `Hello ${name}` }),
})
const { dispatch } = createDispatcher({
  service: 'helloworld',
  handlers: {
    Helloworld: {
      call: hello,
      bare: endpoint({ handle: () => ({ message: 'Hello' }) }),
      order: endpoint({ request: Order, response: Order, handle: (order) => order }),
      later: endpoint({ handle: async () => ({ message: 'Hello' }) }),
    },
  },
  log: createServiceLog({ service: 'helloworld', write: () => {} }),
})
const call = (name: string, body: Uint8Array) => (): unknown => {
  const incoming = new BenchCall(name, body)
  dispatch(incoming)
  return incoming.result
}
const order = compileSchema(Order, 'request')
const orderText = ORDER.toString()

const micro: Micro = {
  benches: {
    'small message': call('Helloworld.Call', NAME),
    'small message, no schema': call('Helloworld.Bare', NAME),
    'five items, an int64 and a default, both ways': call('Helloworld.Order', ORDER),
    'asynchronous handler': call('Helloworld.Later', NAME),
    'invalid field': call('Helloworld.Call', WRONG),
    'schema alone: five items, an int64 and a default': () => order.decode(JSON.parse(orderText)),
    'same with the functions of the library': () => Decode(Order, JSON.parse(orderText)),
    'JSON.parse of both': () => JSON.parse(orderText),
  },
  budgetNs: {
    'small message': 3_000,
    'five items, an int64 and a default, both ways': 15_000,
  },
}

export default micro
