import t from 'tap'
import { type TUnsafe, Type } from 'typebox'
import type { StandardSchema } from '../../sdk/schema/schema.ts'
import { Bytes, Int64 } from '../../sdk/schema/schema-types.ts'
import {
  type Endpoints,
  endpoint,
  type KindOf,
  type RequestOf,
  type ResponseOf,
} from '../../sdk/service/endpoint.ts'

// Checked by `tsc`, which `npm run check` runs. A line that unexpectedly compiles, or unexpectedly does not, is a
// compile error.

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const assertTrue = <_ extends true>(): void => {}

const Named = Type.Object({ name: Type.String() })
const Message = Type.Object({ message: Type.String() })
/** A schema of another library whose input is text and whose output is a number. */
const measured = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => ({ value: { size: Number((value as { size: string }).size) } }),
  },
} as StandardSchema<{ size: string }, { size: number }>

/** Accepts a table like a service does, without influencing the types of the declarations. */
const declare = <E extends Endpoints>(endpoints: E): E => endpoints

t.test('infers request and response types from the schemas', async (t) => {
  const { call, exact, loose, silent } = declare({
    call: endpoint({
      request: Named,
      response: Message,
      handle(request) {
        assertTrue<Equal<typeof request, { name: string }>>()
        return { message: request.name }
      },
    }),
    exact: endpoint({
      request: Type.Object({ id: Int64(), data: Type.Optional(Bytes()) }),
      response: Type.Object({ id: Int64() }),
      async handle(request) {
        assertTrue<Equal<typeof request, { id: bigint; data?: Uint8Array }>>()
        return { id: request.id }
      },
    }),
    loose: endpoint({
      handle(request) {
        assertTrue<Equal<typeof request, unknown>>()
        return { anything: 1 }
      },
    }),
    silent: endpoint({ request: Named, handle: async () => {} }),
  })
  assertTrue<Equal<KindOf<typeof call>, 'unary'>>()
  assertTrue<Equal<RequestOf<typeof call>, { name: string }>>()
  assertTrue<Equal<ResponseOf<typeof call>, { message: string }>>()
  assertTrue<Equal<RequestOf<typeof exact>, { id: string | number | bigint; data?: string }>>()
  assertTrue<Equal<ResponseOf<typeof loose>, unknown>>()
  t.equal(silent.kind, 'unary')
})

t.test('types streams as iterables of their schemas', async (t) => {
  const { download, upload, both } = declare({
    download: endpoint({
      request: Named,
      response: Message,
      stream: 'server',
      async *handle({ name }) {
        assertTrue<Equal<typeof name, string>>()
        yield { message: name }
      },
    }),
    upload: endpoint({
      request: Named,
      response: Message,
      stream: 'client',
      async handle(requests) {
        let message = ''
        for await (const { name } of requests) message += name
        return { message }
      },
    }),
    both: endpoint({
      request: Named,
      response: Message,
      stream: 'both',
      async *handle(requests) {
        assertTrue<Equal<typeof requests, AsyncIterable<{ name: string }>>>()
        for await (const { name } of requests) yield { message: name }
      },
    }),
  })
  assertTrue<Equal<KindOf<typeof download>, 'server'>>()
  assertTrue<Equal<KindOf<typeof upload>, 'client'>>()
  assertTrue<Equal<KindOf<typeof both>, 'both'>>()
  t.equal(download.kind, 'server')
})

t.test('handlers of a Standard Schema receive its output and return its input type', async (t) => {
  const { call } = declare({
    call: endpoint({
      request: measured,
      response: measured,
      handle({ size }) {
        assertTrue<Equal<typeof size, number>>()
        return { size: String(size) }
      },
    }),
  })
  assertTrue<Equal<RequestOf<typeof call>, { size: string }>>()
  assertTrue<Equal<ResponseOf<typeof call>, { size: number }>>()
  t.equal(call.kind, 'unary')
})

t.test('a handler that does not match its schemas does not compile', async (t) => {
  // @ts-expect-error: the message must be a string
  const invalid = endpoint({ response: Message, handle: () => ({ message: 5 }) })
  // @ts-expect-error: the request has no size
  endpoint({ request: Named, handle: ({ size }) => size })
  // @ts-expect-error: a stream is not a single message
  endpoint({ response: Message, stream: 'server', handle: () => ({ message: '' }) })
  // @ts-expect-error: a single message is not a stream
  endpoint({ response: Message, handle: () => [{ message: '' }] })
  const unsafe: TUnsafe<Date> = Type.Unsafe<Date>({})
  const dated = endpoint({ request: unsafe, handle: (date) => date.getTime() })
  t.strictSame([invalid.kind, dated.kind], ['unary', 'unary'])
})
