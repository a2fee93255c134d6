import t from 'tap'
import { type Account, createContext, metadata } from '../../sdk/context.ts'
import { createServiceLog } from '../../sdk/log/service-log.ts'
import { createDispatcher } from '../../sdk/service/dispatch.ts'
import { endpoint } from '../../sdk/service/endpoint.ts'
import { keepAlive } from '../fixtures/keep-alive.ts'
import { startCall } from '../fixtures/served-calls.ts'

/** Returns the result of `look` in the context of a call with this metadata block. */
function runBlock<T>(block: string, read: (ctx: ReturnType<typeof createContext>) => T): T {
  let result: { value: T } | undefined
  const log = createServiceLog({ service: 'greeter', level: 'silent', write: () => {} })
  const handle = (_request: unknown, ctx: ReturnType<typeof createContext>) => {
    result = { value: read(ctx) }
  }
  const dispatcher = createDispatcher({
    service: 'greeter',
    handlers: { A: { b: endpoint({ handle }) } },
    log,
  })
  const { error } = startCall(dispatcher, 'A.B', { metadata: block })
  if (error !== undefined) throw error.cause
  return result!.value
}

t.test(
  'metadata.get returns the value and a found flag, with names in any letter case',
  async (t) => {
    const block = 'x-tenant: acme\r\naccept-language: de\r\naccept-language: en\r\nx-empty:\r\n'
    const get = (name: string) => runBlock(block, (ctx) => metadata.get(ctx, name))
    for (const name of ['X-Tenant', 'x-tenant', 'X-TENANT']) t.strictSame(get(name), ['acme', true])
    t.strictSame(get('X-Other'), ['', false])
    t.strictSame(get('X-Empty'), ['', true], 'found is true for an empty value')
    t.strictSame(get('accept-language'), ['de, en', true], 'values are joined as in RFC 9110 §5.3')
    t.strictSame(get('__proto__'), ['', false])
    const cookies = runBlock('cookie: a=1\r\ncookie: b=2\r\n', (ctx) => metadata.get(ctx, 'Cookie'))
    t.strictSame(cookies, ['a=1; b=2', true])
  },
)

t.test('metadata.set returns a new context, and an empty value deletes the entry', async (t) => {
  const first = createContext({ metadata: { 'X-Tenant': 'acme', 'X-Other': 'a' } })
  const second = metadata.set(first, 'X-TENANT', 'umbrella')
  t.strictSame(metadata.get(first, 'x-tenant'), ['acme', true], 'the original context is unchanged')
  t.strictSame(metadata.get(second, 'x-tenant'), ['umbrella', true])
  t.strictSame(metadata.get(second, 'x-other'), ['a', true])
  t.equal(second.id, first.id)
  const third = metadata.set(second, 'x-tenant', '')
  t.strictSame(metadata.get(third, 'x-tenant'), ['', false])
  t.strictSame(third.fields, ['x-other', 'a'])
})

t.test('metadata.set rejects line breaks, invalid names and reserved names', async (t) => {
  const ctx = createContext()
  for (const [name, value] of [
    ['a', 'b\r\nmx-account: {}'],
    ['a\r\nb', 'c'],
    ['', 'c'],
    ['a b', 'c'],
    ['a', '\u20ac'],
    ['mx-account', '{"id":"admin"}'],
    ['MX-Account', '{"id":"admin"}'],
    ['mx-namespace', ''],
    ['a', 'x'.repeat(70_000)],
  ] as const) {
    t.throws(() => metadata.set(ctx, name, value), TypeError, name)
  }
  t.throws(() => createContext({ metadata: { a: '\n' } }), TypeError)
})

t.test('ctx.account is parsed from one valid mx-account header', async (t) => {
  const account = (json: string): Account | undefined =>
    runBlock(`mx-account: ${json}\r\n`, (ctx) => ctx.account)
  t.strictSame(
    account('{"id":"john","type":"user","issuer":"mx","scopes":["admin"],"metadata":{"a":"b"}}'),
    { id: 'john', name: '', type: 'user', issuer: 'mx', scopes: ['admin'], metadata: { a: 'b' } },
  )
  t.strictSame(account('{"id":"john","scopes":null,"metadata":null}')?.scopes, [])
  t.equal(account(Buffer.from('{"id":"Jürgen"}').toString('latin1'))?.id, 'Jürgen')
  for (const invalid of ['', '{', 'null', '[]', '{}', '{"id":5}', '{"id":""}'])
    t.equal(account(invalid), undefined, `no account: ${invalid}`)
  const two = 'mx-account: {"id":"a"}\r\nmx-account: {"id":"b"}\r\n'
  t.equal(
    runBlock(two, (ctx) => ctx.account),
    undefined,
    'two headers mean no account',
  )
  const [first, second] = runBlock('mx-account: {"id":"john"}\r\n', (ctx) => [
    ctx.account,
    ctx.account,
  ])
  t.equal(first, second, 'parsed once')
})

t.test('a context has service, endpoint, namespace and request id', async (t) => {
  const block = 'mx-namespace: acme\r\nx-request-id: r-1\r\n'
  t.strictSame(
    runBlock(block, ({ service, endpoint, namespace, id }) => [service, endpoint, namespace, id]),
    ['greeter', 'A.B', 'acme', 'r-1'],
  )
  t.equal(
    runBlock('', (ctx) => ctx.namespace),
    '',
  )
  const [id, sameId] = runBlock('', (ctx) => [ctx.id, ctx.id])
  t.match(id, /^[0-9a-f-]{36}$/, 'a generated id if there is no header')
  t.equal(sameId, id)
})

t.test('a context has a deadline, the remaining time, and a signal that aborts', async (t) => {
  const withoutDeadline = createContext()
  t.strictSame(
    [withoutDeadline.msLeft, withoutDeadline.deadlineMs],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  )
  t.equal(withoutDeadline.signal.aborted, false)
  const expired = createContext({ timeoutMs: 0 })
  t.equal(expired.msLeft, 0)
  const expiring = createContext({ timeoutMs: 1 })
  // Its timer does not keep the process alive.
  keepAlive(t)
  if (!expiring.signal.aborted)
    await new Promise((resolve) => expiring.signal.addEventListener('abort', resolve))
  t.equal((expiring.signal.reason as Error).name, 'TimeoutError')
  const { signal } = new AbortController()
  t.equal(createContext({ signal }).signal, signal)
})

t.test('log lines of a context have endpoint and request id', async (t) => {
  const noted: unknown[] = []
  const note = (details: object, message: string) => void noted.push({ ...details, message })
  const ctx = createContext({
    endpoint: 'A.B',
    metadata: { 'x-request-id': 'r-1' },
    log: { debug: note, info: note, warn: note, error: note },
  })
  ctx.log.info({ name: 'John' }, 'greeted')
  ctx.log.warn({ id: 'own' }, 'a warning')
  ctx.log.error({}, 'bad')
  t.strictSame(noted, [
    { endpoint: 'A.B', id: 'r-1', name: 'John', message: 'greeted' },
    { endpoint: 'A.B', id: 'r-1', _id: 'own', message: 'a warning' },
    { endpoint: 'A.B', id: 'r-1', message: 'bad' },
  ])
})
