import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { metadata } from '../../../sdk/context.ts'
import { conflict, ServiceError } from '../../../sdk/errors.ts'
import { createServiceLog } from '../../../sdk/log/service-log.ts'
import { createDispatcher, type Dispatcher } from '../../../sdk/service/dispatch.ts'
import { type Endpoints, endpoint } from '../../../sdk/service/endpoint.ts'
import { type CallParts, serve, startCall } from '../../fixtures/served-calls.ts'

const Name = Type.Object({ name: Type.String() })
const Message = Type.Object({ message: Type.String() })

/** Creates a dispatcher of the `greeter` service, with its log lines. */
function create(endpoints: Endpoints): { dispatcher: Dispatcher; lines: string[] } {
  const lines: string[] = []
  const log = createServiceLog({ service: 'greeter', write: (line) => void lines.push(line) })
  const dispatcher = createDispatcher({
    service: 'greeter',
    handlers: { Helloworld: endpoints },
    log,
  })
  return { dispatcher, lines }
}

const call = endpoint({
  request: Name,
  response: Message,
  handle: ({ name }) => ({ message: `Hello ${name}` }),
})

t.test('a synchronous handler responds before the dispatch returns', async (t) => {
  const { dispatcher } = create({ call })
  const {
    replyJson: answer,
    isSettled,
    replyMetadata,
    error,
  } = startCall(dispatcher, 'Helloworld.Call', {
    body: { name: 'John' },
  })
  t.strictSame(answer, { message: 'Hello John' })
  t.ok(isSettled)
  t.equal(replyMetadata, '', 'the default content type is JSON')
  t.equal(error, undefined)
  t.equal(dispatcher.active, 0)
})

t.test('an asynchronous handler responds later', async (t) => {
  const { dispatcher } = create({
    call: endpoint({
      request: Name,
      response: Message,
      async handle({ name }, ctx) {
        await setImmediate()
        return { message: `${name} ${metadata.get(ctx, 'X-Tenant')[0]}` }
      },
    }),
  })
  const incoming = startCall(dispatcher, 'Helloworld.Call', {
    body: { name: 'John' },
    metadata: 'x-tenant: acme\r\n',
  })
  t.equal(dispatcher.active, 1)
  await incoming.done
  t.strictSame(incoming.replyJson, { message: 'John acme' })
  t.equal(dispatcher.active, 0)
})

t.test('an unknown endpoint returns 404 with `endpoint not found: <name>`', async (t) => {
  const { dispatcher } = create({ call })
  for (const name of ['Helloworld.Nope', 'helloworld.call', '__proto__', 'toString', '']) {
    const { error } = await serve(dispatcher, name)
    t.strictSame(error?.toBody(), {
      Id: 'greeter',
      Code: 404,
      Detail: `endpoint not found: greeter.${name}`,
      Status: 'Not Found',
    })
  }
  const { error } = await serve(dispatcher, 'x'.repeat(60_000))
  t.ok(error!.message.length < 400)
})

t.test('rejects a malformed metadata block with 400', async (t) => {
  let served = 0
  const { dispatcher } = create({ call: endpoint({ handle: () => ({ served: ++served }) }) })
  const account = 'mx-account: {"id":"x"}\r\n'
  for (const block of [
    'garbage without colon\r\n',
    `garbage\r\n${account}`,
    `${account}garbage`,
    'Upper: x\r\n',
    'no-end: x',
    'bare: x\n',
    `bare: x\n${account}`,
    'folded: x\r\n y\r\n',
    'a: \0\r\n',
    ' a: x\r\n',
    'a : x\r\n',
    '\r\n',
  ]) {
    const { error, replyBody } = await serve(dispatcher, 'Helloworld.Call', { metadata: block })
    t.match(error?.toBody(), { Id: 'greeter', Code: 400, Detail: /^metadata must be/ }, block)
    t.equal(replyBody, undefined)
  }
  t.equal(served, 0)
  t.equal(dispatcher.active, 0)
  const { replyJson: answer } = await serve(dispatcher, 'Helloworld.Call', { metadata: account })
  t.strictSame(answer, { served: 1 })
})

t.test('rejects a call for another service with 404', async (t) => {
  const { dispatcher } = create({ call })
  const { error } = await serve(dispatcher, 'Helloworld.Call', { service: 'other' })
  t.match(error?.toBody(), { Id: 'greeter', Code: 404, Detail: 'service not found: other' })
})

t.test('a service accepts calls for its own name, and for `<anything>.<name>`', async (t) => {
  const { dispatcher } = create({
    call: endpoint({ request: Name, handle: (_request, ctx) => ctx.service }),
  })
  const body = { name: 'John' }
  for (const service of [
    'go.mx.api.greeter',
    'a.greeter',
    'greeter',
    'b.greeter',
    'greeter.greeter',
  ])
    t.equal((await serve(dispatcher, 'Helloworld.Call', { service, body })).replyJson, service)
  for (const service of ['greeterx', 'xgreeter', '.greeter', 'a..greeter', 'a\r\nb.greeter', '']) {
    const { error } = await serve(dispatcher, 'Helloworld.Call', { service, body })
    t.match(error?.toBody(), { Id: 'greeter', Code: 404, Detail: `service not found: ${service}` })
  }
})

t.test('the id of an error is the called service name', async (t) => {
  const { dispatcher } = create({
    call,
    fault: endpoint({
      handle() {
        throw new Error('no')
      },
    }),
    list: endpoint({ stream: 'server', handle: () => [] }),
  })
  const service = 'go.mx.api.greeter'
  const cases: [string, CallParts, number][] = [
    ['Helloworld.Nope', {}, 404],
    ['Helloworld.Call', { body: {} }, 400],
    ['Helloworld.Call', { body: '{' }, 400],
    ['Helloworld.Call', { metadata: 'content-type: text/xml\r\n' }, 415],
    ['Helloworld.Fault', {}, 500],
    ['Helloworld.List', {}, 400],
  ]
  for (const [name, parts, code] of cases) {
    const { error } = await serve(dispatcher, name, { ...parts, service })
    t.match(error?.toBody(), { Id: service, Code: code }, name)
  }
})

t.test('handlers can be added separately, and a duplicate endpoint is rejected', async (t) => {
  const { dispatcher } = create({ call })
  dispatcher.handle('Other', { call })
  dispatcher.handle('Helloworld', { more: call })
  t.strictSame(
    dispatcher.describe().map(({ name }) => name),
    ['Helloworld.Call', 'Other.Call', 'Helloworld.More'],
  )
  t.throws(() => dispatcher.handle('Other', { more: call, call }), /Other\.Call is declared twice/)
  t.throws(() => dispatcher.handle('Third', { call, Call: call }), /Third\.Call is declared twice/)
  t.throws(() => dispatcher.handle('debug', {}), /the handler debug is reserved/)
  t.equal(dispatcher.describe().length, 3, 'a handler is added completely or not at all')
  const { replyJson: answer } = await serve(dispatcher, 'Other.Call', { body: { name: 'John' } })
  t.strictSame(answer, { message: 'Hello John' })
})

t.test('only an endpoint declared `idempotent: false` is not repeatable', async (t) => {
  const { dispatcher } = create({ call, once: endpoint({ idempotent: false, handle: () => {} }) })
  t.strictSame(
    ['Helloworld.Call', 'Helloworld.Once', 'Debug.Health', 'Nobody.Knows'].map(
      (name) => startCall(dispatcher, name).receiver.repeatable ?? true,
    ),
    [true, false, true, true],
  )
})

t.test('an error with invalid headers returns 500, and the reason is logged', async (t) => {
  for (const headers of [
    ['a b', 'c'],
    ['a', 'b\r\nmx-account: {}'],
    ['a', '\u20ac'],
    [5, 'x'],
  ]) {
    const { dispatcher, lines } = create({
      call: endpoint({
        handle() {
          throw conflict('greeter', 'no', { headers: headers as string[] })
        },
      }),
    })
    const { error } = await serve(dispatcher, 'Helloworld.Call')
    t.match(error, { code: 500, message: 'internal error', headers: undefined })
    t.match(lines, [/the headers of an error must be names and values: /])
  }
})

t.test(
  'rejects a request that does not match the schema with 400 and the path of the first invalid field',
  async (t) => {
    const { dispatcher, lines } = create({ call })
    for (const [body, detail] of [
      [{ name: 5 }, 'request.name must be a string, got 5'],
      [{}, 'request.name is missing'],
      ['', 'request.name is missing'],
      ['[]', 'request must be an object, got []'],
    ] as const) {
      const { error } = await serve(dispatcher, 'Helloworld.Call', { body })
      t.strictSame(error?.toBody(), {
        Id: 'greeter',
        Code: 400,
        Detail: detail,
        Status: 'Bad Request',
      })
    }
    for (const body of [
      '{"name":',
      '{"name":"a","__proto__":{}}',
      Buffer.from([0x22, 0xff, 0x22]),
    ]) {
      const { error } = await serve(dispatcher, 'Helloworld.Call', { body })
      t.equal(error?.code, 400)
      t.match(error?.message, /^request body must/)
    }
    t.strictSame(lines, [], 'caller errors are not logged')
  },
)

t.test('rejects an unsupported content type with 415', async (t) => {
  const { dispatcher } = create({ call })
  const body = { name: 'John' }
  for (const type of ['application/json; charset=utf-8', 'application/grpc+json']) {
    const { replyJson: answer } = await serve(dispatcher, 'Helloworld.Call', {
      body,
      metadata: `a: b\r\ncontent-type: ${type}\r\n`,
    })
    t.strictSame(answer, { message: 'Hello John' }, type)
  }
  for (const type of ['text/xml', 'application/protobuf', 'application/x-www-form-urlencoded']) {
    const { error } = await serve(dispatcher, 'Helloworld.Call', {
      body,
      metadata: `content-type: ${type}\r\n`,
    })
    t.equal(error?.code, 415, type)
  }
})

t.test('a typed error of a handler is sent as the response', async (t) => {
  const { dispatcher, lines } = create({
    now: endpoint({
      handle() {
        throw conflict('greeter.names', 'John is taken', { headers: ['retry-after', '1'] })
      },
    }),
    later: endpoint({
      async handle() {
        await setImmediate()
        throw conflict('greeter.names', 'John is taken')
      },
    }),
  })
  for (const name of ['Helloworld.Now', 'Helloworld.Later']) {
    const { error } = await serve(dispatcher, name)
    t.strictSame(error?.toBody(), {
      Id: 'greeter.names',
      Code: 409,
      Detail: 'John is taken',
      Status: 'Conflict',
    })
  }
  t.strictSame(lines, [])
})

t.test('any other error returns 500 without details, and is logged with its stack', async (t) => {
  const { dispatcher, lines } = create({
    now: endpoint({
      handle() {
        throw new Error('password is hunter2')
      },
    }),
    later: endpoint({ handle: () => Promise.reject('hunter2') }),
    fine: endpoint({
      handle() {
        throw new ServiceError('hunter2', 200, 'no error yields 200')
      },
    }),
  })
  for (const name of ['Helloworld.Now', 'Helloworld.Later', 'Helloworld.Fine']) {
    const { error } = await serve(dispatcher, name, { metadata: 'x-request-id: r-1\r\n' })
    t.strictSame(error?.toBody(), {
      Id: 'greeter',
      Code: 500,
      Detail: 'internal error',
      Status: 'Internal Server Error',
    })
  }
  t.equal(lines.length, 3)
  const { level, endpoint: name, id, msg, err } = JSON.parse(lines[0]!)
  t.strictSame([level, name, id, msg], [50, 'Helloworld.Now', 'r-1', 'handler failed'])
  t.match(err.stack, /dispatch\.test/)
})

t.test('a response that does not match its schema results in 500 and is logged', async (t) => {
  const { dispatcher, lines } = create({
    call: endpoint({ response: Message, handle: () => ({ message: 5 as unknown as string }) }),
    nothing: endpoint({ response: Message, handle: () => undefined as never }),
    circular: endpoint({
      handle() {
        const loop: Record<string, unknown> = {}
        loop['self'] = loop
        return loop
      },
    }),
  })
  for (const name of ['Call', 'Nothing', 'Circular']) {
    const { error } = await serve(dispatcher, `Helloworld.${name}`)
    t.match(error?.toBody(), { Code: 500, Detail: 'internal error' })
  }
  t.match(lines[0], /response\.message must be a string, got 5/)
  t.match(lines[1], /response must be an object, got undefined/)
  t.equal(lines.length, 3)
})

t.test('an endpoint without a result responds with an empty object', async (t) => {
  const { dispatcher } = create({ call: endpoint({ handle: () => {} }) })
  t.strictSame((await serve(dispatcher, 'Helloworld.Call')).replyJson, {})
})

t.test('deadline and signal reach the handler', async (t) => {
  const seen: unknown[] = []
  const { dispatcher } = create({
    call: endpoint({
      async handle(_request, ctx) {
        seen.push(ctx.msLeft > 4000 && ctx.msLeft <= 5000)
        seen.push(Math.abs(ctx.deadlineMs - Date.now() - 5000) < 1000)
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
        seen.push((ctx.signal.reason as Error).name)
        throw new Error('too late for anybody')
      },
    }),
    late: endpoint({
      async handle(_request, ctx) {
        await setImmediate()
        seen.push(ctx.signal.aborted, (ctx.signal.reason as Error).name)
      },
    }),
  })
  const first = startCall(dispatcher, 'Helloworld.Call', { timeoutMs: 5000 })
  t.equal(dispatcher.active, 1)
  first.cancel('timeout')
  t.equal(dispatcher.active, 0)
  await setImmediate()
  t.strictSame(seen, [true, true, 'TimeoutError'])
  t.equal(first.error, undefined, 'no response is sent')
  startCall(dispatcher, 'Helloworld.Late').cancel('closed')
  await setImmediate()
  await setImmediate()
  t.strictSame(seen.slice(3), [true, 'AbortError'], 'even for a signal that is accessed later')
})

t.test('a server stream sends every yielded value', async (t) => {
  const { dispatcher } = create({
    count: endpoint({
      request: Type.Object({ to: Type.Integer({ default: 3 }) }),
      response: Type.Object({ n: Type.Integer() }),
      stream: 'server',
      async *handle({ to }) {
        for (let n = 1; n <= to; n++) {
          if (n === 2) await setImmediate()
          yield { n }
        }
      },
    }),
    list: endpoint({ stream: 'server', handle: () => [1, 2] }),
    later: endpoint({ stream: 'server', handle: (async () => [1, 2]) as never }),
  })
  const { items, error } = await serve(dispatcher, 'Helloworld.Count', { stream: true })
  t.strictSame(items, [{ n: 1 }, { n: 2 }, { n: 3 }])
  t.equal(error, undefined)
  t.strictSame((await serve(dispatcher, 'Helloworld.List', { stream: true })).items, [1, 2])
  t.strictSame((await serve(dispatcher, 'Helloworld.Later', { stream: true })).items, [1, 2])
  t.equal(dispatcher.active, 0)
})

t.test('rejects a call to a streaming endpoint without STREAM with 400', async (t) => {
  const { dispatcher } = create({ count: endpoint({ stream: 'server', handle: () => [1] }) })
  const { error } = await serve(dispatcher, 'Helloworld.Count')
  t.match(error?.toBody(), { Code: 400, Detail: /Helloworld\.Count responds with a stream/ })
})

t.test('an error within a stream ends it and closes the handler', async (t) => {
  let closed = 0
  const { dispatcher, lines } = create({
    typed: endpoint({
      stream: 'server',
      async *handle() {
        yield 1
        throw conflict('greeter', 'enough')
      },
    }),
    misfit: endpoint({
      stream: 'server',
      response: Message,
      *handle() {
        try {
          yield { message: 'a' }
          yield { message: 1 as unknown as string }
        } finally {
          closed++
        }
      },
    }),
    none: endpoint({ stream: 'server', handle: () => 5 as never }),
  })
  const typed = await serve(dispatcher, 'Helloworld.Typed', { stream: true })
  t.strictSame(typed.items, [1])
  t.match(typed.error?.toBody(), { Code: 409, Detail: 'enough' })
  const mismatched = await serve(dispatcher, 'Helloworld.Misfit', { stream: true })
  t.strictSame(mismatched.items, [{ message: 'a' }])
  t.equal(mismatched.error?.code, 500)
  t.equal(closed, 1)
  const none = await serve(dispatcher, 'Helloworld.None', { stream: true })
  t.equal(none.error?.code, 500)
  t.match(lines.join(''), /must return an iterable, got number/)
})

t.test('a slow reader pauses the handler at the window size', async (t) => {
  let createdCount = 0
  const { dispatcher } = create({
    flood: endpoint({
      stream: 'server',
      *handle() {
        for (;;) {
          createdCount++
          yield 'x'.repeat(10_000)
        }
      },
    }),
  })
  const incoming = startCall(dispatcher, 'Helloworld.Flood', { stream: true })
  await setImmediate()
  const first = createdCount
  t.ok(first > 20 && first < 30, `${first} messages of 10 kB for a window of 256 KiB`)
  await setImmediate()
  t.equal(createdCount, first)
  incoming.read()
  await setImmediate()
  t.ok(createdCount > first + 20 && createdCount < first + 30)
  incoming.cancel()
})

t.test('a cancelled stream closes its handler', async (t) => {
  for (const kind of ['waiting for credit', 'waiting for the handler'] as const) {
    let closed = false
    const { dispatcher } = create({
      flood: endpoint({
        stream: 'server',
        async *handle(_request, ctx) {
          try {
            while (!ctx.signal.aborted) {
              if (kind === 'waiting for credit') yield 'x'.repeat(300_000)
              else {
                yield 'x'
                await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
              }
            }
          } finally {
            closed = true
          }
        },
      }),
    })
    const incoming = startCall(dispatcher, 'Helloworld.Flood', { stream: true })
    await setImmediate()
    incoming.cancel()
    for (let round = 0; round < 10 && !closed; round++) await setImmediate()
    t.ok(closed, kind)
    t.equal(dispatcher.active, 0)
  }
})

const sum = endpoint({
  request: Type.Object({ n: Type.Integer() }),
  response: Type.Object({ sum: Type.Integer() }),
  stream: 'client',
  async handle(requests) {
    let total = 0
    for await (const { n } of requests) total += n
    return { sum: total }
  },
})

t.test('a client stream has one response', async (t) => {
  const { dispatcher } = create({ sum })
  const incoming = startCall(dispatcher, 'Helloworld.Sum', { body: { n: 1 }, more: true })
  incoming.send({ n: 2 })
  incoming.send({ n: 3 })
  await setImmediate()
  incoming.send({ n: 4 })
  incoming.end()
  await incoming.done
  t.strictSame(incoming.replyJson, { sum: 10 })
  t.equal(incoming.consumedBytes, 4 * '{"n":1}'.length, 'consumed as the handler reads')
  const empty = startCall(dispatcher, 'Helloworld.Sum', { more: true })
  empty.end()
  await empty.done
  t.strictSame(empty.replyJson, { sum: 0 }, 'an empty first body is not a request')
  t.strictSame((await serve(dispatcher, 'Helloworld.Sum', { body: { n: 7 } })).replyJson, {
    sum: 7,
  })
})

t.test('rejects an invalid request within a stream with 400', async (t) => {
  const { dispatcher } = create({ sum })
  for (const invalid of ['{"n":"x"}', '{']) {
    const incoming = startCall(dispatcher, 'Helloworld.Sum', { body: { n: 1 }, more: true })
    incoming.send(invalid)
    await incoming.done
    t.equal(incoming.error?.code, 400)
    t.match(incoming.error?.message, /request(\.n| body) must/)
  }
})

t.test('a cancelled client stream ends the loop over its requests with the reason', async (t) => {
  let reason: unknown
  const { dispatcher } = create({
    sum: endpoint({
      stream: 'client',
      async handle(requests) {
        try {
          for await (const _ of requests);
        } catch (error) {
          reason = error
        }
      },
    }),
  })
  const incoming = startCall(dispatcher, 'Helloworld.Sum', { body: { n: 1 }, more: true })
  await setImmediate()
  incoming.cancel('closed')
  await setImmediate()
  t.equal((reason as Error).name, 'AbortError')
})

t.test('a bidirectional stream responds while requests arrive', async (t) => {
  const { dispatcher } = create({
    echo: endpoint({
      request: Name,
      response: Message,
      stream: 'both',
      async *handle(requests) {
        for await (const { name } of requests) yield { message: name }
      },
    }),
  })
  const incoming = startCall(dispatcher, 'Helloworld.Echo', { stream: true, more: true })
  incoming.send({ name: 'a' })
  await setImmediate()
  t.strictSame(
    incoming.items,
    [{ message: 'a' }],
    'responses are sent while the caller still sends requests',
  )
  incoming.send({ name: 'b' })
  incoming.end()
  await incoming.done
  t.strictSame(incoming.items, [{ message: 'a' }, { message: 'b' }])
})

t.test('a unary endpoint called as a stream uses the first body as request', async (t) => {
  const { dispatcher } = create({ call })
  const parts = { stream: true, more: true }
  const later = startCall(dispatcher, 'Helloworld.Call', parts)
  t.notOk(later.isSettled)
  later.send({ name: 'John' })
  later.send({ name: 'Jane' })
  t.strictSame(later.replyJson, { message: 'Hello John' })
  const none = startCall(dispatcher, 'Helloworld.Call', parts)
  none.end()
  t.equal(none.error?.message, 'request.name is missing')
})

t.test('asynchronous Standard Schemas are supported', async (t) => {
  const slow = (check: (value: unknown) => boolean) => ({
    '~standard': {
      version: 1 as const,
      vendor: 'test',
      async validate(value: unknown) {
        await setImmediate()
        if (check(value)) return { value: value as { name: string } }
        return { issues: [{ message: 'must have a name', path: ['name'] }] }
      },
    },
  })
  const named = slow((value) => typeof (value as { name?: unknown }).name === 'string')
  const { dispatcher } = create({
    call: endpoint({ request: named, response: named, handle: ({ name }) => ({ name }) }),
    count: endpoint({
      request: named,
      response: named,
      stream: 'both',
      async *handle(requests) {
        for await (const { name } of requests) yield { name }
      },
    }),
  })
  const succeeded = await serve(dispatcher, 'Helloworld.Call', { body: { name: 'a' } })
  t.strictSame(succeeded.replyJson, { name: 'a' })
  const invalid = await serve(dispatcher, 'Helloworld.Call', { body: {} })
  t.match(invalid.error?.toBody(), { Code: 400, Detail: 'request.name: must have a name' })
  const parts = { body: { name: 'a' }, stream: true }
  t.strictSame((await serve(dispatcher, 'Helloworld.Count', parts)).items, [{ name: 'a' }])
})

t.test('an invalid declaration is rejected when the dispatcher is created', async (t) => {
  const expectRejected = (t: Test, handlers: Record<string, Endpoints>, message: RegExp) =>
    t.throws(() => createDispatcher({ service: 'greeter', handlers }), { message })
  expectRejected(
    t,
    { Helloworld: { call, Call: call } },
    /endpoint Helloworld\.Call is declared twice/,
  )
  expectRejected(t, { Debug: { call } }, /the handler Debug is reserved/)
  expectRejected(t, { debug: { call } }, /the handler debug is reserved/)
  expectRejected(t, { 'Hello.World': { call } }, /handler must consist of letters and digits/)
  expectRejected(t, { Helloworld: { 'a-b': call } }, /method must consist of letters and digits/)
})

t.test('the description contains all endpoints except Debug', async (t) => {
  const { dispatcher } = create({ call, sum })
  t.strictSame(
    dispatcher.describe().map(({ name }) => name),
    ['Helloworld.Call', 'Helloworld.Sum'],
  )
})
