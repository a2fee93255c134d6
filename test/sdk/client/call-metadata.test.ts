import t from 'tap'
import { parseMetadata } from '../../../core/rpc/metadata.ts'
import { type CallDetails, formatCallMetadata } from '../../../sdk/client/call-metadata.ts'
import { Context, createContext, metadata } from '../../../sdk/context.ts'

/** The metadata of a call. */
const getFields = (details: CallDetails, namespace = ''): Record<string, string> => {
  const fields = parseMetadata(formatCallMetadata(details, namespace))!
  return Object.fromEntries(
    Array.from({ length: fields.length / 2 }, (_, i) => [fields[2 * i]!, fields[2 * i + 1]!]),
  )
}

t.test('a call without a context has no metadata', async (t) => {
  t.equal(formatCallMetadata({}, ''), '')
})

t.test('metadata, request id, account and namespace of the context are forwarded', async (t) => {
  const account = '{"id":"john"}'
  const block = `x-request-id: r-1\r\nmx-account: ${account}\r\nmx-namespace: shop\r\ncookie: a=b\r\ncookie: c=d\r\n`
  const context = new Context(createScope(), block)
  t.equal(formatCallMetadata({ context }, 'other'), block)
  t.equal(formatCallMetadata({ context }, 'other'), block, 'once for each call')
})

t.test('a context without a request id forwards its generated id', async (t) => {
  const context = createContext()
  t.strictSame(getFields({ context }), { 'x-request-id': context.id })
  t.strictSame(getFields({ context, metadata: { 'X-Request-Id': 'mine' } }), {
    'x-request-id': 'mine',
  })
})

t.test('headers about a single request or response are not forwarded', async (t) => {
  const context = createContext({
    metadata: {
      'content-type': 'application/protobuf',
      'Content-Length': '5',
      'content-encoding': 'gzip',
      accept: 'text/html',
      'accept-encoding': 'gzip',
      'if-none-match': '"a"',
      range: 'bytes=0-1',
      timeout: '5',
      'grpc-timeout': '5S',
      'accept-language': 'de',
      authorization: 'Bearer a',
      'x-request-id': 'r-1',
    },
  })
  t.strictSame(getFields({ context }), {
    'accept-language': 'de',
    authorization: 'Bearer a',
    'x-request-id': 'r-1',
  })
  const proxied = new Context(createScope(), 'mx-hops: 3\r\nx-request-id: r-1\r\n')
  t.strictSame(getFields({ context: proxied }), { 'x-request-id': 'r-1' })
})

t.test('metadata of the call overrides the context, and an empty value removes it', async (t) => {
  const context = metadata.set(
    createContext({ metadata: { 'x-request-id': 'r-1', 'x-tenant': 'acme', 'x-trace': 'on' } }),
    'X-Tenant',
    'globex',
  )
  t.strictSame(getFields({ context, metadata: { 'X-Trace': '', 'X-New': '1' } }), {
    'x-request-id': 'r-1',
    'x-tenant': 'globex',
    'x-new': '1',
  })
})

t.test('the namespace comes from the call, the context or the client, in this order', async (t) => {
  const context = new Context(createScope(), 'x-request-id: r\r\nmx-namespace: shop\r\n')
  const withoutNamespace = new Context(createScope(), 'x-request-id: r\r\n')
  const findNamespace = (details: CallDetails, client = '') =>
    getFields(details, client)['mx-namespace']
  t.equal(findNamespace({}, 'c'), 'c')
  t.equal(findNamespace({ context }, 'c'), 'shop')
  t.equal(findNamespace({ context: withoutNamespace }, 'c'), 'c')
  t.equal(findNamespace({ context, namespace: 'own' }, 'c'), 'own')
  t.equal(findNamespace({ namespace: 'own' }, 'c'), 'own')
  t.equal(findNamespace({ context, namespace: '' }, 'c'), undefined)
  t.equal(findNamespace({ namespace: '' }, 'c'), undefined)
  t.equal(findNamespace({ context: withoutNamespace }), undefined)
})

t.test('reserved names and invalid names and values are rejected', async (t) => {
  for (const name of ['Mx-Account', 'mx-namespace', 'Content-Type', 'a b', '', 'ä'])
    t.throws(() => getFields({ metadata: { [name]: 'x' } }), TypeError, name)
  for (const value of ['a\r\nb: c', '\u0000', '\u20ac'])
    t.throws(() => getFields({ metadata: { a: value } }), TypeError, value)
  t.throws(() => getFields({ namespace: 'a\r\nb: c' }), TypeError)
})

function createScope() {
  return {
    service: 'greeter',
    endpoint: 'A.B',
    expiresMs: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    start() {},
  }
}
