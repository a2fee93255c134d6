import { REPLY } from '../../../core/rpc/ws/frames.ts'
import { ServerConnection } from '../../../core/rpc/ws/server-connection.ts'
import { Type } from '../../../core/schema.ts'
import { createServiceLog } from '../../../sdk/log/service-log.ts'
import { createDispatcher } from '../../../sdk/service/dispatch.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import type { Micro } from '../micro.ts'
import { BenchCall, LastMessage, packFrames, renumberFrames } from './frame-parts.ts'

/** Calls per event loop tick under load. */
const CALLS = 64
/** Offset of the type in the first frame of a message (docs/protocol.md §2.2). */
const TYPE_AT = 4
const SERVICE = 'go.mx.api.helloworld'

const Request = Type.Object({ name: Type.String() })
const Response = Type.Object({
  message: Type.String(),
  id: Type.Integer(),
  tags: Type.Array(Type.String()),
  ok: Type.Boolean(),
})
const createResponse = (name: string) => ({
  message: `Hello ${name}`,
  id: 12345,
  tags: ['a', 'b'],
  ok: true,
})

const { dispatch } = createDispatcher({
  service: SERVICE,
  log: createServiceLog({ service: SERVICE, write: () => {} }),
  handlers: {
    Helloworld: {
      call: endpoint({
        request: Request,
        response: Response,
        handle: ({ name }) => createResponse(name),
      }),
      later: endpoint({
        request: Request,
        response: Response,
        handle: async ({ name }) => createResponse(name),
      }),
    },
  },
})

/** Creates a service connection and a message of `count` calls, to measure from request frames to response frames. */
function createService(endpointName: string, count: number) {
  const socket = new LastMessage()
  const server = new ServerConnection(dispatch)
  server.open(socket)
  const call = new BenchCall()
  call.endpoint = endpointName
  const message = packFrames(count, (writer) => writer.call(1, 0, 10_000, call))
  let id = 1
  const send = (): void => {
    renumberFrames(message, count, id)
    id += count
    server.onMessage(message, true)
  }
  /** Sends the results. @throws {Error} if there are no results. */
  const flush = (): void => {
    server.onDrain()
    const { last } = socket
    if (server.pending > 0 || last[TYPE_AT] !== REPLY) throw new Error(`no response: ${last}`)
  }
  return { send, flush }
}

const alone = createService('Helloworld.Call', 1)
const packed = createService('Helloworld.Call', CALLS)
const deferredService = createService('Helloworld.Later', CALLS)

const micro: Micro = {
  benches: {
    'single call in a message': () => {
      alone.send()
      alone.flush()
    },
    [`${CALLS} calls per message`]: () => {
      packed.send()
      packed.flush()
    },
    [`${CALLS} calls per message, asynchronous handler`]: async () => {
      deferredService.send()
      // All promises have settled by the next tick.
      await new Promise(setImmediate)
      deferredService.flush()
    },
  },
  // 10 µs per call, including validation of request and response.
  budgetNs: {
    'single call in a message': 10_000,
    [`${CALLS} calls per message`]: CALLS * 10_000,
    [`${CALLS} calls per message, asynchronous handler`]: CALLS * 10_000,
  },
}

export default micro
