// Service of the RPC scenarios. backend-server.ts sends the same responses over plain HTTP. Argument: port.
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { endpoint, loadProto, Service, Type } from '../../../sdk/index.ts'
import { ROOT } from '../../rivals/rival.ts'
import { createTick, LARGE, SERVICE, SLOW_MS, SMALL, TICK_MS } from './documents.ts'

const Request = Type.Object({ name: Type.String() })
const Response = Type.Object({
  message: Type.String(),
  id: Type.Integer(),
  tags: Type.Array(Type.String()),
  ok: Type.Boolean(),
})
const Large = Type.Object({
  items: Type.Array(
    Type.Object({
      id: Type.Integer(),
      name: Type.String(),
      price: Type.Number(),
      tags: Type.Array(Type.String()),
    }),
  ),
  note: Type.String(),
})
const Count = Type.Object({ count: Type.Integer({ minimum: 0 }) })
const Tick = Type.Object({ sequence: Type.Integer(), message: Type.String() })

const proto = await loadProto(join(ROOT, 'bench/http/servers/helloworld.proto'))
const greet = ({ name }: { name: string }) => ({ ...SMALL, message: `Hello ${name}` })

const service = new Service({ name: SERVICE, address: `127.0.0.1:${process.argv[2]}` })
service.handle('Helloworld', {
  call: endpoint({ request: Request, response: Response, handle: greet }),
  large: endpoint({ response: Large, handle: () => LARGE }),
  store: endpoint({ request: Large, response: Response, handle: () => SMALL }),
  protobuf: endpoint({
    request: proto.message('bench.Request', Request),
    response: proto.message('bench.Response', Response),
    handle: greet,
  }),
  slow: endpoint({ response: Response, handle: () => wait(SLOW_MS, SMALL) }),
  stream: endpoint({
    stream: 'server',
    request: Count,
    response: Tick,
    async *handle({ count }) {
      for (let i = 0; i < count; i++) yield createTick(i)
    },
  }),
  ticks: endpoint({
    stream: 'server',
    request: Count,
    response: Tick,
    async *handle({ count }) {
      for (let i = 0; i < count; i++) {
        await wait(TICK_MS)
        yield createTick(i)
      }
    },
  }),
})
await service.run()
