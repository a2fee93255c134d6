import t from 'tap'
import {
  type CallStream,
  Client,
  endpoint,
  Int64,
  Service,
  type ServiceProxy,
  type StandardSchema,
  Type,
} from '../../sdk/index.ts'

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

const endpoints = {
  call: endpoint({
    request: Named,
    response: Message,
    handle: ({ name }) => ({ message: name }),
  }),
  exact: endpoint({
    request: Type.Object({ id: Int64() }),
    response: measured,
    handle: ({ id }) => ({ size: String(id) }),
  }),
  loose: endpoint({ handle: () => 1 }),
  optional: endpoint({
    request: Type.Object({ size: Type.Optional(Type.Integer()) }),
    handle: () => 1,
  }),
  download: endpoint({
    request: Named,
    response: Message,
    stream: 'server',
    handle: ({ name }) => [{ message: name }],
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
      for await (const { name } of requests) yield { message: name }
    },
  }),
}

/** Only used for its type. */
const service = new Service({ name: 'greeter' })
  .handle('Helloworld', endpoints)
  .handle('Other', { call: endpoints.call })

t.test('a client has the types of its service', async (t) => {
  const client = new Client()
  type Proxy = ServiceProxy<typeof service>
  assertTrue<Equal<keyof Proxy, 'Helloworld' | 'Other'>>()
  const use = async ({ Helloworld, Other }: Proxy): Promise<void> => {
    const reply = await Helloworld.call({ name: 'John' }, { timeoutMs: 5 })
    assertTrue<Equal<typeof reply, { message: string }>>()
    const exact = await Helloworld.exact({ id: '9007199254740993' })
    assertTrue<Equal<typeof exact, { size: number }>>()
    const loose = await Helloworld.loose(undefined)
    assertTrue<Equal<typeof loose, unknown>>()
    assertTrue<Equal<Awaited<ReturnType<typeof Other.call>>, { message: string }>>()
    await Helloworld.exact({ id: 5n })
    // @ts-expect-error: a bigint is not a name
    await Helloworld.call({ name: 5n })
    await Helloworld.loose()
    await Helloworld.loose(undefined, { timeoutMs: 5 })
    await Helloworld.optional()
    await Helloworld.optional({ size: 5 })
    // @ts-expect-error: the request is required
    await Helloworld.call()
    // @ts-expect-error: the request has a name
    await Helloworld.call({})
    // @ts-expect-error: the name must be a string
    await Helloworld.call({ name: 5 })
    // @ts-expect-error: no such endpoint
    await Helloworld.nope({})
    // @ts-expect-error: a unary endpoint has no stream
    Helloworld.call.stream({ name: 'John' })
  }
  t.type(use, 'function')
  client.close()
})

t.test('streams have the types of their messages', async (t) => {
  const use = async ({ Helloworld }: ServiceProxy<typeof service>): Promise<void> => {
    const download = Helloworld.download.stream({ name: 'John' })
    assertTrue<Equal<typeof download, CallStream<{ name: string }, { message: string }>>>()
    for await (const reply of download) assertTrue<Equal<typeof reply, { message: string }>>()
    const upload = Helloworld.upload.stream([{ name: 'a' }, { name: 'b' }])
    const reply = await upload.reply()
    assertTrue<Equal<typeof reply, { message: string }>>()
    const both = Helloworld.both.stream()
    const isAccepted = await both.send({ name: 'a' })
    assertTrue<Equal<typeof isAccepted, boolean>>()
    // @ts-expect-error: a stream is not a function
    await Helloworld.download({ name: 'John' })
    // @ts-expect-error: its request is required
    Helloworld.download.stream()
    // @ts-expect-error: requests have a name
    await both.send({})
    // @ts-expect-error: the elements of a list must have a name
    Helloworld.upload.stream([{}])
  }
  t.type(use, 'function')
})

t.test('the type of the handlers is sufficient to type a client', async (t) => {
  type Proxy = ServiceProxy<{ Helloworld: typeof endpoints }>
  assertTrue<Equal<Proxy['Helloworld'], ServiceProxy<typeof service>['Helloworld']>>()
  const client = new Client()
  const { Helloworld } = client.service<{ Helloworld: typeof endpoints }>('greeter')
  assertTrue<Equal<Parameters<typeof Helloworld.call>[0], { name: string }>>()
  const loose = client.call('greeter', 'A.B')
  assertTrue<Equal<typeof loose, Promise<unknown>>>()
  await t.rejects(loose, TypeError)
  await t.rejects(client.call<{ n: number }>('greeter', 'A.B'), TypeError)
  client.close()
})
