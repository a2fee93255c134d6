import t from 'tap'
import type { CallStream } from '../../sdk/client/streams/call-stream.ts'
import { badRequest, conflict, tooManyRequests } from '../../sdk/errors.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { createService, openClient } from '../fixtures/sdk-services.ts'

// Misbehaving handlers must not leave callers without a response or stop the service.

const LOOP: Record<string, unknown> = {}
LOOP['self'] = LOOP

/** A value that throws on every access. */
const REVOKED_PROXY = new Proxy(
  {},
  {
    get: () => throwValue('get'),
    has: () => throwValue('has'),
    getPrototypeOf: () => throwValue('getPrototypeOf'),
  },
)

function throwValue(thrown: unknown): never {
  throw thrown
}

/** A typed error with a broken property. */
function corrupt(change: PropertyDescriptorMap): Error {
  return Object.defineProperties(badRequest('odd', 'spoilt'), change)
}

function iterate(iterator: object): Iterable<unknown> {
  return { [Symbol.iterator]: () => iterator } as Iterable<unknown>
}

const THROWN: Record<string, unknown> = {
  nothing: undefined,
  null: null,
  text: 'password is hunter2',
  frozen: Object.freeze(new Error('hunter2')),
  record: { code: 404, message: 'hunter2' },
  shut: REVOKED_PROXY,
  'a circular detail': corrupt({ message: { value: LOOP } }),
  'a detail that throws': corrupt({ message: { get: () => throwValue('hunter2') } }),
  'a field of two lines': tooManyRequests('odd', 'hunter2', { headers: ['x-a', 'a\r\nb: c'] }),
}

const RETURNED: Record<string, unknown> = {
  'a symbol': Symbol('s'),
  'a function': () => 1,
  NaN: Number.NaN,
  circular: LOOP,
  'too deep': Array.from({ length: 100_000 }).reduce<unknown>((inner) => ({ inner }), {}),
  shut: REVOKED_PROXY,
  'JSON that throws': { toJSON: () => throwValue('hunter2') },
}

const STREAMED: Record<string, unknown> = {
  nothing: undefined,
  'a number': 5,
  'no iterator': iterate(null as unknown as object),
  'an iterator of nothing': iterate({ next: () => undefined }),
  'an iterator of numbers': iterate({ next: () => 5 }),
  'a value that is none': [Symbol('s')],
}

const service = createService(t, { name: 'odd' }).handle('Odd', {
  throws: endpoint({ handle: (name) => throwValue(THROWN[name as string]) }),
  rejects: endpoint({ handle: async (name) => throwValue(THROWN[name as string]) }),
  returns: endpoint({ handle: (name) => RETURNED[name as string] }),
  streams: endpoint({
    stream: 'server',
    handle: (name) => STREAMED[name as string] as Iterable<unknown>,
  }),
  breaks: endpoint({
    stream: 'server',
    *handle(name) {
      yield 1
      throw THROWN[name as string]
    },
  }),
  long: endpoint({ handle: () => throwValue(badRequest('odd', '\u{1f600}'.repeat(100_000))) }),
  strange: endpoint({
    handle: async () => throwValue(conflict(10n as unknown as string, 'why')),
  }),
  never: endpoint({
    stream: 'server',
    handle: () =>
      iterate({
        next: () => ({ done: false, value: 1 }),
        return: () => new Promise(() => {}),
      }),
  }),
})
const address = await service.start()
const INTERNAL = { Id: 'odd', Code: 500, Detail: 'internal error', Status: 'Internal Server Error' }

async function readAll(stream: CallStream<unknown, unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const value of stream) all.push(value)
  return all
}

for (const [variant, options] of Object.entries({
  'over a socket': { address },
  'in process': { services: [service], inProcess: true },
})) {
  const client = openClient(t, { ...options, retries: 0 })
  const toError = async (answer: Promise<unknown>) => {
    try {
      return await answer
    } catch (error) {
      return (error as { toBody(): unknown }).toBody()
    }
  }

  t.test(`${variant}: any thrown value returns 500 without details`, async (t) => {
    for (const name of Object.keys(THROWN)) {
      t.strictSame(await toError(client.call('odd', 'Odd.Throws', name)), INTERNAL, name)
      t.strictSame(await toError(client.call('odd', 'Odd.Rejects', name)), INTERNAL, name)
      const stream = client.stream('odd', 'Odd.Breaks', name)
      t.same((await stream.next()).value, 1)
      t.strictSame(await toError(readAll(stream)), INTERNAL, name)
    }
  })

  t.test(`${variant}: a result that is not a message, or not a stream, returns 500`, async (t) => {
    for (const name of Object.keys(RETURNED))
      t.strictSame(await toError(client.call('odd', 'Odd.Returns', name)), INTERNAL, name)
    for (const name of Object.keys(STREAMED)) {
      const stream = client.stream('odd', 'Odd.Streams', name)
      t.strictSame(await toError(readAll(stream)), INTERNAL, name)
    }
  })

  t.test(
    `${variant}: a typed error may have a long detail, and its id becomes a string`,
    async (t) => {
      const long = await toError(client.call('odd', 'Odd.Long'))
      t.match(long, { Id: 'odd', Code: 400, Detail: /^(?:\u{1f600})+$/u })
      t.match(await toError(client.call('odd', 'Odd.Strange')), {
        Id: '10',
        Code: 409,
        Detail: 'why',
      })
    },
  )

  t.test(`${variant}: canceling a stream does not wait for its return()`, async (t) => {
    for await (const value of client.stream('odd', 'Odd.Never', {})) {
      t.equal(value, 1)
      break
    }
    t.strictSame(await client.call('odd', 'Debug.Health'), { status: 'ok' })
  })
}

t.test('stopping the service does not wait for hanging calls', async () => {
  await service.stop({ timeoutMs: 3_600_000 })
})
