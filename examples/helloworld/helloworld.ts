// The service `helloworld`, run by main.ts. See examples/README.md for how to call it.
import { endpoint, Service, Type } from 'mx-gateway'

const Message = Type.Object({ message: Type.String() })

export const helloworld = new Service({ name: 'helloworld' }).handle('Helloworld', {
  call: endpoint({
    description: 'Greets a person by name.',
    request: Type.Object({ name: Type.String() }),
    response: Message,
    handle: ({ name }) => ({ message: `Hello ${name}` }),
  }),
  stream: endpoint({
    description: 'Streams the numbers from 1 to count.',
    request: Type.Object({ count: Type.Integer({ minimum: 0, maximum: 1_000_000, default: 3 }) }),
    response: Message,
    stream: 'server',
    *handle({ count }) {
      for (let n = 1; n <= count; n++) yield { message: `${n} of ${count}` }
    },
  }),
})
