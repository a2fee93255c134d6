import t from 'tap'
import { parseTemplate } from '../../../../../core/path/template.ts'
import { toRoute } from '../../../../../core/route.ts'
import {
  compilePath,
  replacePrefix,
} from '../../../../../platform/gateway/routes/rewrite/rewrite.ts'
import { createTestExchange } from '../../../../../sdk/testing.ts'

t.test('placeholders of a path are replaced by encoded values of the request', async (t) => {
  const template = parseTemplate('/users/{id}/**')
  const x = createTestExchange({ path: '/users/a%20b/x/y%2Fz', headers: { 'x-tenant': 'ö?ü' } })
  x.route = toRoute('users', '', undefined, [['id', 'a b']], template)
  const rows: [string, string][] = [
    ['/v2/{id}/{rest}', '/v2/a%20b/x/y%2Fz'],
    ['/t/{header.X-Tenant}/{header.x-none}', '/t/%C3%B6%3F%C3%BC/'],
    ['{path}', '/users/a%20b/x/y%2Fz'],
    ['/plain', '/plain'],
  ]
  for (const [text, expected] of rows) t.equal(compilePath(text, template)(x), expected, text)
})

t.test(
  'a header cannot lead to another path: dot segments, empty segments and additional segments are rejected with 400',
  async (t) => {
    const template = parseTemplate('/a/**')
    const render = compilePath('/tenant/{header.x-tenant}{header.x-more}/{rest}', template)
    const withHeaders = (headers: Record<string, string>) => {
      const x = createTestExchange({ path: '/a/b', headers })
      x.route = toRoute('a', '', undefined, undefined, template)
      return () => render(x)
    }
    for (const value of [
      '..',
      '.',
      '../admin',
      'x/../../admin',
      'a/b',
      '/',
      '..;a',
      'a\\..',
      '%2e%2e',
      '%2F',
      '',
      'a\tb',
    ])
      t.throws(withHeaders({ 'x-tenant': value }), { code: 400 }, JSON.stringify(value))
    t.throws(
      withHeaders({ 'x-tenant': '.', 'x-more': '.' }),
      { code: 400 },
      'dot segments in two headers',
    )
    t.throws(withHeaders({}), { code: 400 }, 'without the header')
    for (const [value, expected] of [
      ['shop', 'shop'],
      ['...', '...'],
      ['a?b=1&c#d', 'a%3Fb%3D1%26c%23d'],
      ['100%', '100%25'],
    ] as const)
      t.equal(withHeaders({ 'x-tenant': value })(), `/tenant/${expected}/b`)
  },
)

t.test('text that is invalid in a path is rejected', async (t) => {
  for (const text of ['/a b', '/a/../b', '/a//b', '/{path}/..', '/ä'])
    t.throws(() => compilePath(text, undefined), RangeError, text)
})

t.test('an unknown placeholder or brace is rejected with the known ones', async (t) => {
  const compile = (text: string) => () => compilePath(text, parseTemplate('/a/{id}'))
  t.throws(compile('/{name}'), {
    message:
      'unknown placeholder {name}, expected {id}, {client_ip}, {host}, {path}, {header.<name>}',
  })
  t.throws(compile('/{rest}'), /unknown placeholder \{rest\}/)
  t.throws(compile('/{id'), /unmatched brace in "\/\{id"/)
})

t.test('a prefix is replaced by segments, including encoded ones', async (t) => {
  const rows: [string, string[], string, string | undefined][] = [
    ['/api/users/7', ['api'], '', '/users/7'],
    ['/api', ['api'], '', '/'],
    ['/api/', ['api'], '', '/'],
    ['/%61pi/x', ['api'], '', '/x'],
    ['/apis/x', ['api'], '', undefined],
    ['/a/b/c%2Fd', ['a', 'b'], '', '/c%2Fd'],
    ['/a', ['a', 'b'], '', undefined],
    ['/api', ['api'], '/v2', '/v2'],
    ['/api/', ['api'], '/v2', '/v2/'],
    ['/api/a', ['api'], '/v2', '/v2/a'],
    ['/a', [], '/v2', '/v2/a'],
    ['/', [], '/v2', '/v2/'],
  ]
  for (const [path, prefix, replacement, expected] of rows)
    t.equal(replacePrefix(path, prefix, replacement), expected, path)
})
