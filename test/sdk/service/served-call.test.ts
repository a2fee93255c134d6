import t from 'tap'
import { Type } from 'typebox'
import { GatewayError } from '../../../core/errors.ts'
import { CLIENT_CLOSED_REQUEST } from '../../../sdk/client/client-closed-request.ts'
import { protobufMessage } from '../../../sdk/schema/schema.ts'
import { type EndpointDefinition, endpoint } from '../../../sdk/service/endpoint.ts'
import { ServedCall } from '../../../sdk/service/served-call.ts'
import { ServedEndpoint } from '../../../sdk/service/served-endpoint.ts'
import { type CallParts, TestCall } from '../../fixtures/served-calls.ts'

/** Serves a call and records its final statuses. */
function serve(definition: EndpointDefinition, parts: CallParts = {}) {
  const incoming = new TestCall('A.B', parts)
  const codes: number[] = []
  const lines: string[] = []
  const recorder = {
    log: {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (_: object, message: string) => void lines.push(message),
    },
    onSettled: (_: ServedCall, code: number) => void codes.push(code),
  }
  const served = new ServedCall(
    incoming,
    new ServedEndpoint('greeter', 'A.B', definition),
    recorder,
    performance.now(),
  )
  served.serve()
  return { incoming, codes, lines }
}

t.test('onSettled is called once with the status', async (t) => {
  const round = () => new Promise(setImmediate)
  t.strictSame(serve(endpoint({ handle: () => 1 })).codes, [200])
  t.strictSame(serve(endpoint({ request: Type.String(), handle: () => 1 })).codes, [400])
  const hanging = endpoint({ handle: (_, ctx) => new Promise((r) => (ctx.signal.onabort = r)) })
  const pending = serve(hanging)
  t.strictSame(pending.codes, [])
  pending.incoming.cancel()
  pending.incoming.receiver.onCancel('closed')
  await round()
  t.strictSame(pending.codes, [CLIENT_CLOSED_REQUEST], 'not again when the handler returns')
  const late = serve(hanging)
  late.incoming.cancel('timeout')
  t.strictSame(late.codes, [408])
  const failing = serve(
    endpoint({
      async handle() {
        await round()
        throw new Error('handler failed')
      },
    }),
  )
  failing.incoming.cancel()
  await round()
  await round()
  t.strictSame(failing.codes, [CLIENT_CLOSED_REQUEST])
  t.strictSame(failing.lines, [], 'errors after the end of a call are not logged')
})

t.test('protobuf responses and streams have a content type in their metadata', async (t) => {
  const codec = {
    decode: () => ({}),
    encode: (value: unknown) => Buffer.from(JSON.stringify(value)),
  }
  const message = protobufMessage(Type.Object({ n: Type.Optional(Type.Integer()) }), codec)
  const metadata = 'content-type: application/protobuf\r\n'
  const unary = endpoint({ request: message, response: message, handle: () => ({ n: 1 }) })
  const reply = serve(unary, { metadata }).incoming
  t.equal(reply.replyMetadata, metadata)
  t.equal(String(reply.replyBody), '{"n":1}')
  const stream = endpoint({
    request: message,
    response: message,
    stream: 'server',
    handle: () => [{ n: 1 }, { n: 2 }],
  })
  const { incoming } = serve(stream, { metadata, stream: true })
  await incoming.done
  t.equal(incoming.replyMetadata, metadata)
  t.strictSame(incoming.items, [{ n: 1 }, { n: 2 }])
})

t.test('ctx.start() starts a stream without a message, once', async (t) => {
  let proceed: (() => void) | undefined
  const pending = endpoint({
    stream: 'server',
    async *handle(_, ctx) {
      ctx.start()
      await new Promise<void>((resolve) => {
        proceed = resolve
      })
      yield 'a'
      ctx.start()
    },
  })
  const { incoming, codes } = serve(pending, { stream: true })
  t.strictSame([incoming.starts, incoming.items], [1, []])
  proceed?.()
  await incoming.done
  t.strictSame([incoming.starts, incoming.items, codes], [1, ['a'], [200]])
})

t.test('ctx.start() in a unary endpoint fails with 500', async (t) => {
  const unary = endpoint({ handle: (_, ctx) => ctx.start() })
  const { incoming, lines } = serve(unary, { stream: true })
  await incoming.done
  t.equal(incoming.error?.code, 500)
  t.strictSame(lines, ['handler failed'])
})

t.test('a message over the size limit in a stream fails with 500', async (t) => {
  const stream = endpoint({ stream: 'server', handle: () => ['x'] })
  const incoming = new TestCall('A.B', { stream: true })
  incoming.sendData = () => {
    throw new RangeError('body is longer than 16 MiB')
  }
  const codes: number[] = []
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const recorder = { log, onSettled: (_: ServedCall, code: number) => void codes.push(code) }
  new ServedCall(incoming, new ServedEndpoint('greeter', 'A.B', stream), recorder, 0).serve()
  await incoming.done
  t.equal(incoming.error?.code, 500)
  t.strictSame(codes, [500])
})

t.test('an error of return() after a cancellation is ignored', async (t) => {
  const nonSettling = {
    [Symbol.iterator]: () => ({
      next: () => ({ done: false, value: 'x'.repeat(300_000) }),
      return() {
        throw new Error('no')
      },
    }),
  }
  const { incoming, codes } = serve(
    endpoint({ stream: 'server', handle: () => nonSettling as Iterable<string> }),
    { stream: true },
  )
  await new Promise(setImmediate)
  t.doesNotThrow(() => incoming.cancel())
  t.strictSame(codes, [CLIENT_CLOSED_REQUEST])
})

t.test('any thrown value ends the call with 500, and is logged', async (t) => {
  const hostile = new Proxy(new Error('hidden'), {
    get() {
      throw new Error('no member')
    },
    getPrototypeOf() {
      throw new Error('no class')
    },
  })
  for (const thrown of [Object.freeze(new Error('log failed')), hostile, undefined]) {
    const sync = serve(
      endpoint({
        handle() {
          throw thrown
        },
      }),
    )
    const late = serve(
      endpoint({
        async handle() {
          await undefined
          throw thrown
        },
      }),
    )
    const stream = serve(
      endpoint({
        stream: 'server',
        *handle() {
          yield 1
          throw thrown
        },
      }),
      { stream: true },
    )
    for (const { incoming, codes, lines } of [sync, late, stream]) {
      await incoming.done
      t.match(incoming.error, { code: 500, message: 'internal error' })
      t.strictSame([codes, lines], [[500], ['handler failed']])
    }
  }
})

t.test('a log that throws affects neither the call nor the process', async (t) => {
  const fail = () => {
    throw new Error('disk full')
  }
  const codes: number[] = []
  const recorder = {
    log: { debug: fail, info: fail, warn: fail, error: fail },
    onSettled: (_: ServedCall, code: number) => void codes.push(code),
  }
  const throwing = endpoint({
    async handle() {
      throw new Error('log failed')
    },
  })
  const incoming = new TestCall('A.B')
  new ServedCall(incoming, new ServedEndpoint('greeter', 'A.B', throwing), recorder, 0).serve()
  await incoming.done
  t.equal(incoming.error?.code, 500)
  t.strictSame(codes, [500])
})

t.test('a result with an unreadable `then` fails with 500', async (t) => {
  const throwingProxy = new Proxy(
    {},
    {
      get() {
        throw new Error('no member')
      },
    },
  )
  const { incoming, codes, lines } = serve(endpoint({ handle: () => throwingProxy }))
  await incoming.done
  t.strictSame([incoming.error?.code, codes, lines], [500, [500], ['handler failed']])
})

t.test('a response over the size limit fails with 500 and the limit, and is logged', async (t) => {
  for (const [text, code] of [
    ['x'.repeat(16 * 1024 * 1024 - 2), 200],
    ['x'.repeat(16 * 1024 * 1024 - 1), 500],
    ['ä'.repeat(8 * 1024 * 1024), 500],
  ] as const) {
    const { incoming, codes, lines } = serve(endpoint({ handle: () => text }))
    await incoming.done
    t.strictSame(codes, [code])
    t.equal(lines.length, code === 200 ? 0 : 1)
    if (code === 500)
      t.match(incoming.error, { message: 'response must be at most 16777216 bytes' })
  }
})

t.test('an error with an invalid code returns 500, and the code is logged', async (t) => {
  const { incoming, lines } = serve(
    endpoint({
      handle() {
        throw new GatewayError('a', 200, 'invalid code')
      },
    }),
  )
  await incoming.done
  t.equal(incoming.error?.code, 500)
  t.match(lines, [/the code of an error must be from 400 to 599, got 200/])
})
