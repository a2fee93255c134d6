import fc from 'fast-check'
import t from 'tap'
import { RequestValidator } from '../../../core/listener/request-validator.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

function authorize(
  method: string,
  target: string,
  fields: readonly string[] = ['host', 'a.test'],
  guard = new RequestValidator(),
) {
  guard.reset()
  for (let i = 0; i < fields.length; i += 2) guard.addBytes(fields[i]!, fields[i + 1]!)
  const queryStart = target.indexOf('?')
  const error = guard.validate(
    method,
    queryStart < 0 ? target : target.slice(0, queryStart),
    queryStart < 0 ? '' : target.slice(queryStart + 1),
  )
  return { guard, code: error?.code, detail: error?.message }
}

const HOST = ['host', 'a.test']

t.test('a valid request passes with its headers in order', async (t) => {
  const { guard, code } = authorize('GET', '/a/b;c=d?e=f', [
    ...HOST,
    'x-a',
    '1',
    'cookie',
    'b',
    'x-a',
    '2',
  ])
  t.equal(code, undefined)
  t.strictSame(guard.headers.flat, ['x-a', '1', 'cookie', 'b', 'x-a', '2'])
  t.equal(guard.host, 'a.test')
  t.equal(guard.bodyLength, 0)
  t.equal(guard.closing, false)
  t.equal(guard.websocket, false)
})

t.test(
  'hop-by-hop, framing, underscore and internal headers are removed (RFC 9110 §7.6.1)',
  async (t) => {
    const dropped = [
      'connection',
      'keep-alive',
      'te',
      'trailer',
      'upgrade',
      'expect',
      'proxy-connection',
      'proxy-authorization',
      'proxy-authenticate',
      'proxy-authentication-info',
      'http2-settings',
      'x_forwarded_for',
      'mx-account',
      'mx-',
      'host',
    ]
    const { guard } = authorize('GET', '/', [
      ...HOST,
      ...dropped.filter((name) => name !== 'host').flatMap((name) => [name, 'x']),
    ])
    t.strictSame(guard.headers.flat, [])
    for (const header of [
      'mx-namespace',
      'authorization',
      'x-forwarded-for',
      'm',
      'mxy',
      'date',
      'upgrade-insecure-requests',
    ]) {
      t.equal(authorize('GET', '/', [...HOST, header, 'v']).guard.headers.get(header), 'v', header)
    }
  },
)

t.test('internal headers are accepted from the platform', async (t) => {
  const fields = [...HOST, 'mx-account', '1', 'mx_account', '2', 'te', '3']
  const { guard } = authorize('GET', '/', fields, new RequestValidator(true))
  t.strictSame(guard.headers.flat, ['mx-account', '1'])
})

t.test(
  'headers named in Connection are removed, except headers that identify client or request',
  async (t) => {
    const { guard } = authorize('GET', '/', [
      ...HOST,
      'x-hop',
      '1',
      'connection',
      'X-Hop, keep-alive',
      'connection',
      'X-Too',
      'x-too',
      '2',
      'x-end',
      '3',
    ])
    t.strictSame(guard.headers.flat, ['x-end', '3'])
    for (const name of [
      'authorization',
      'cookie',
      'x-forwarded-for',
      'x-forwarded-anything',
      'forwarded',
      'via',
      'x-real-ip',
      'x-request-id',
      'mx-namespace',
    ]) {
      t.equal(
        authorize('GET', '/', [...HOST, name, 'v', 'connection', name]).guard.headers.get(name),
        'v',
        name,
      )
    }
  },
)

t.test(
  'body length and connection close follow from method, Content-Length and Transfer-Encoding',
  async (t) => {
    const cases: [string, readonly string[], number, boolean][] = [
      ['POST', ['content-length', '5'], 5, false],
      ['POST', ['content-length', '0'], 0, false],
      ['PUT', ['transfer-encoding', 'chunked'], -1, true],
      ['PUT', ['transfer-encoding', 'Chunked'], -1, true],
      ['POST', [], 0, true],
      ['PATCH', [], 0, true],
      ['GET', [], 0, false],
      ['GET', ['content-length', '0'], 0, false],
      ['GET', ['content-length', '5'], 5, true],
      ['HEAD', ['transfer-encoding', 'chunked'], -1, true],
      ['DELETE', ['content-length', '5'], 5, true],
      ['OPTIONS', ['content-length', '5'], 5, true],
      ['PURGE', [], 0, true],
    ]
    for (const [method, fields, length, closing] of cases) {
      const { guard, code } = authorize(method, '/', [...HOST, ...fields])
      t.equal(code, undefined, `${method} ${fields}`)
      t.equal(guard.bodyLength, length, `${method} ${fields}: length`)
      t.equal(guard.closing, closing, `${method} ${fields}: closing`)
    }
  },
)

t.test('rejects ambiguous framing headers with 400', async (t) => {
  const fields: readonly (readonly string[])[] = [
    ['content-length', '5', 'content-length', '5'],
    ['content-length', '5', 'content-length', '6'],
    ['transfer-encoding', 'chunked', 'transfer-encoding', 'chunked'],
    ['content-length', '5', 'transfer-encoding', 'chunked'],
    ['transfer-encoding', 'chunked', 'content-length', '5'],
    ...['', ' 5', '+5', '-5', '5.0', '0x5', '5, 5', '1e3', '1234567890123456', '\xb2'].map(
      (value) => ['content-length', value],
    ),
    ...[
      '',
      'gzip',
      'chunked, chunked',
      'gzip, chunked',
      'xchunked',
      'chunked;a',
      '"chunked"',
      ' chunked',
    ].map((value) => ['transfer-encoding', value]),
  ]
  for (const each of fields)
    t.equal(authorize('POST', '/', [...HOST, ...each]).code, 400, each.join(' '))
})

t.test(
  'a request needs one Host with a valid name or address and port (RFC 9112 §3.2)',
  async (t) => {
    for (const host of [
      'a',
      'a.test',
      'a.test:80',
      'A-b_c.test',
      '127.0.0.1:8080',
      '[::1]',
      '[2001:db8::1]:443',
      'xn--4ca.test',
    ]) {
      t.equal(authorize('GET', '/', ['host', host]).code, undefined, host)
    }
    for (const host of [
      '',
      'a b',
      'a,b',
      'u@a',
      'a/b',
      'a?b',
      'a#b',
      'a:',
      'a:b',
      'a:123456',
      '[::1',
      '::1',
      'http://a',
      '\xe4',
      'a\\b',
      '[g::]',
    ]) {
      t.equal(authorize('GET', '/', ['host', host]).code, 400, encodeURIComponent(host))
    }
    t.equal(authorize('GET', '/', []).code, 400)
    t.equal(authorize('GET', '/', ['host', 'a', 'host', 'a']).code, 400)
  },
)

t.test('rejects ambiguous request targets with 400', async (t) => {
  for (const target of [
    '/',
    '/a',
    '/a%20b',
    '/a;b',
    '/a.b',
    '/...',
    '/.well-known/x',
    '/a..b',
    '/%E4',
    '/a?b=%2f&c=../..',
    '/a?b?c\\',
    '/"<>^`{|}',
    '//a',
    '/a//b',
  ]) {
    t.equal(authorize('GET', target).code, undefined, target)
  }
  for (const target of [
    '',
    'a',
    '*',
    '/a b',
    '/a#b',
    '/a\\b',
    '/\xe4',
    '/\x7f',
    '/\0',
    '/a?b#c',
    '/a?b c',
    '/a?\xe4',
    '/%00',
    '/%2f',
    '/%2F',
    '/%5c',
    '/%',
    '/%2',
    '/%zz',
    '/%2g',
    '/..',
    '/.',
    '/a/..',
    '/a/../b',
    '/a/./b',
    '/%2e%2e/b',
    '/%2E/b',
    '/.%2e/b',
    '/..;a/b',
    '/a/..;',
    '/a/..%3b/b',
    '/a/%2e%2E%3Bx/b',
    '/a/.%3b',
  ]) {
    t.equal(authorize('GET', target).code, 400, encodeURIComponent(target))
  }
})

t.test(
  '%2F is allowed if enabled, except next to dot segments, parameters and double encoding',
  async (t) => {
    let isServed = true
    const serving = new RequestValidator(false, () => isServed)
    const rows: [string, number | undefined][] = [
      ['/@scope%2fname', undefined],
      ['/api/queues/%2F/q', undefined],
      ['/a%2F.b%2F..c', undefined],
      ['/a%2F%c3%a9%20', undefined],
      ['/a%2F..', 400],
      ['/a%2F..%2Fb', 400],
      ['/a%2F%2e%2E%2fb', 400],
      ['/%2F.%2Fb', 400],
      ['/..%2Fb', 400],
      ['/a%2Fb/../c', 400],
      ['/a%2F%252e%252e%252fb', 400],
      ['/a%2F%25252e', 400],
      ['/a%2f%255c', 400],
      ['/a;%2Fb', 400],
      ['/a%3b%2Fb', 400],
      ['/a%2F..;/b', 400],
      ['/a%2Fb%5C', 400],
      ['/a%2Fb%00', 400],
      ['/a%2Fb%2', 400],
    ]
    for (const [target, code] of rows)
      t.equal(authorize('GET', target, HOST, serving).code, code, target)
    t.equal(authorize('GET', '/a%2Fb').code, 400)
    isServed = false
    t.equal(authorize('GET', '/@scope%2fname', HOST, serving).code, 400, 'no longer enabled')
  },
)

t.test('a query may contain visible ASCII except #, at any length', async (t) => {
  for (let code = 0; code < 256; code++) {
    const isVisible = code > 0x20 && code < 0x7f && code !== 0x23
    const invalid = [0, 22, 23, 24, 100].filter((length) => {
      const target = `/a?${'x'.repeat(length)}${String.fromCharCode(code)}`
      return authorize('GET', target).code !== (isVisible ? undefined : 400)
    })
    t.strictSame(invalid, [], `character ${code}`)
  }
})

t.test(
  'accepts valid tokens as methods, rejects CONNECT and TRACE with 405 and other methods with 400',
  async (t) => {
    for (const method of [
      'GET',
      'HEAD',
      'POST',
      'PUT',
      'PATCH',
      'DELETE',
      'OPTIONS',
      'PURGE',
      'purge',
      'M-SEARCH',
    ])
      t.equal(authorize(method, '/').code, undefined, method)
    for (const method of ['CONNECT', 'TRACE']) t.equal(authorize(method, '/').code, 405, method)
    for (const method of ['', 'G T', 'G:T', 'G\0T', '\xe4', 'get', 'Post', 'connect', 'trace'])
      t.equal(authorize(method, '/').code, 400, encodeURIComponent(method))
  },
)

t.test(
  'close and upgrade are recognized among other tokens of Connection, in any letter case',
  async (t) => {
    for (const [fields, closing, websocket] of [
      [['connection', 'close'], true, false],
      [['connection', 'Close'], true, false],
      [['connection', 'TE , CLOSE'], true, false],
      [['connection', 'keep-alive', 'connection', 'close'], true, false],
      [['connection', 'closed'], false, false],
      [['connection', 'Upgrade', 'upgrade', 'WebSocket'], false, true],
      [['upgrade', 'websocket', 'connection', 'keep-alive, Upgrade'], false, true],
      [['upgrade', 'websocket'], false, false],
      [['connection', 'upgrade', 'upgrade', 'h2c'], false, false],
    ] as const) {
      const { guard } = authorize('GET', '/', [...HOST, ...fields])
      t.equal(guard.closing, closing, `${fields}: closing`)
      t.equal(guard.websocket, websocket, `${fields}: WebSocket`)
    }
  },
)

t.test('rejects control characters at any position of a header value', async (t) => {
  for (let code = 0; code < 256; code++) {
    const isValid = code === 9 || (code >= 0x20 && code !== 0x7f)
    const char = String.fromCharCode(code)
    const invalid = [`${char}a`, `a${char}b`, `a${char}`, `${'x'.repeat(30)}${char}`].filter(
      (value) =>
        authorize('GET', '/', [...HOST, 'x-a', value]).code !== (isValid ? undefined : 400),
    )
    t.strictSame(invalid, [], `character ${code}`)
  }
  const { detail } = authorize('GET', '/', [...HOST, 'te', 'a\x7f', 'x-a', '1'])
  t.equal(detail, 'header values must not contain control characters', 'including removed headers')
})

t.test('rejects bytes above 0x7F in framing headers', async (t) => {
  for (const [name, value] of [
    ['connection', 'close\xa0'],
    ['connection', '\xa0close'],
    ['connection', 'keep-alive, x\xff'],
    ['content-length', '5\xa0'],
    ['content-length', '\x855'],
    ['expect', '100-continue\xff'],
    ['host', 'a\xff'],
    ['transfer-encoding', 'chunked\xff'],
    ['upgrade', '\xa0websocket'],
  ] as const) {
    const fields = name === 'host' ? [name, value] : [...HOST, name, value]
    t.equal(authorize('POST', '/', fields).code, 400, `${name} ${encodeURIComponent(value)}`)
  }
  const { code, guard } = authorize('GET', '/', [...HOST, 'x-a', 'zo\xeb'])
  t.equal(code, undefined, 'other headers may contain them')
  t.notOk(guard.headers.ascii)
})

t.test(
  'decides like a naive implementation of RFC 9110 and RFC 9112 for random headers',
  async (t) => {
    const ascii = 'abcdefghijklmnopqrstuvwxyz0123456789 ,;=./-\t'
    const isValidHost = (host: string) => ['a.test', 'A:1', 'b', 'c'].includes(host)
    const isBad = (fields: readonly (readonly [string, string])[]): boolean => {
      const of = (expected: string) =>
        fields.filter(([name]) => name === expected).map(([, value]) => value)
      const framing = [
        'connection',
        'content-length',
        'expect',
        'host',
        'transfer-encoding',
        'upgrade',
      ]
      for (const [name, value] of fields) {
        for (const char of value) {
          const code = char.charCodeAt(0)
          if (code === 127 || (code < 32 && code !== 9)) return true
          if (code > 127 && framing.includes(name)) return true
        }
      }
      const [lengths, encodings, hosts] = [
        of('content-length'),
        of('transfer-encoding'),
        of('host'),
      ]
      if (lengths.length + encodings.length > 1) return true
      if (
        lengths.some(
          (value) =>
            value === '' ||
            value.length > 15 ||
            [...value].some((char) => !'0123456789'.includes(char)),
        )
      )
        return true
      if (encodings.some((value) => value !== 'chunked')) return true
      return hosts.length !== 1 || !isValidHost(hosts[0]!)
    }
    const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code))
    const char = fc.oneof(
      { weight: 40, arbitrary: fc.constantFrom(...ascii) },
      { weight: 1, arbitrary: byte },
    )
    const value = fc.oneof(
      fc.constantFrom(
        '5',
        '0',
        'chunked',
        'close',
        'upgrade',
        'websocket',
        'a.test',
        '100-continue',
      ),
      fc.array(char, { maxLength: 40 }).map((chars) => chars.join('')),
    )
    const name = fc.constantFrom(
      'connection',
      'content-length',
      'expect',
      'transfer-encoding',
      'upgrade',
      'te',
      'x-a',
      'cookie',
    )
    const host = fc.constantFrom('a.test', 'A:1', 'b', 'c', 'a b', 'a\xff', '', 'a\x7f')
    const guard = new RequestValidator()
    let rejected = 0
    fc.assert(
      fc.property(host, fc.array(fc.tuple(name, value), { maxLength: 4 }), (first, rest) => {
        const fields = [['host', first] as const, ...rest]
        const { code } = authorize('POST', '/', fields.flat(), guard)
        if (code === 400) rejected++
        return (code === 400) === isBad(fields)
      }),
      { numRuns: scaleRuns(5000) },
    )
    t.ok(rejected > 500 && rejected < 4500, `${rejected} of 5000 rejected`)
  },
)

t.test('a reused validator decides like a new one', async (t) => {
  const fields = fc.array(
    fc.constantFrom(
      'content-length',
      '5',
      'transfer-encoding',
      'chunked',
      'host',
      'b',
      'connection',
      'close',
      'x-a',
      '1',
      'upgrade',
      'websocket',
    ),
    { maxLength: 12 },
  )
  const guard = new RequestValidator()
  fc.assert(
    fc.property(
      fields,
      fields,
      fc.constantFrom('GET', 'POST', 'DELETE'),
      (before, input, method) => {
        authorize('POST', '/', before.slice(0, before.length & ~1), guard)
        const pairs = input.slice(0, input.length & ~1)
        const repeated = authorize(method, '/', pairs, guard)
        const fresh = authorize(method, '/', pairs)
        return (
          repeated.code === fresh.code &&
          repeated.detail === fresh.detail &&
          repeated.guard.bodyLength === fresh.guard.bodyLength &&
          repeated.guard.closing === fresh.guard.closing &&
          repeated.guard.websocket === fresh.guard.websocket &&
          repeated.guard.host === fresh.guard.host &&
          String(repeated.guard.headers.flat) === String(fresh.guard.headers.flat)
        )
      },
    ),
  )
  t.pass()
})
