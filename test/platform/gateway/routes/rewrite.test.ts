import t from 'tap'
import { parseTemplate } from '../../../../core/path/template.ts'
import { toRoute } from '../../../../core/route.ts'
import {
  compileText,
  encodePath,
  replacePrefix,
} from '../../../../platform/gateway/routes/rewrite.ts'
import { createTestExchange } from '../../../../sdk/testing.ts'

t.test('placeholders of a path are replaced by encoded values of the request', async (t) => {
  const template = parseTemplate('/users/{id}/**')
  const x = createTestExchange({ path: '/users/a%20b/x/y%2Fz', headers: { 'x-tenant': 'ö/ü' } })
  x.route = toRoute('users', '', undefined, [['id', 'a b']], template)
  const rows: [string, string][] = [
    ['/v2/{id}/{rest}', '/v2/a%20b/x/y%2Fz'],
    ['/t/{header.X-Tenant}/{header.x-none}.', '/t/%C3%B6/%C3%BC/.'],
    ['{path}', '/users/a%20b/x/y%2Fz'],
    ['/plain', '/plain'],
  ]
  for (const [text, expected] of rows)
    t.equal(compileText(text, template, encodePath)(x), expected, text)
})

t.test('an unknown placeholder or brace is rejected with the known ones', async (t) => {
  const compile = (text: string) => () => compileText(text, parseTemplate('/a/{id}'), encodePath)
  t.throws(compile('/{name}'), {
    message:
      'unknown placeholder {name}, expected {id}, {client_ip}, {host}, {path}, {header.<name>}',
  })
  t.throws(compile('/{rest}'), /unknown placeholder \{rest\}/)
  t.throws(compile('/{id'), /unmatched brace in "\/\{id"/)
})

t.test('a prefix is replaced by segments, encoded ones included', async (t) => {
  const rows: [string, string[], string, string][] = [
    ['/api/users/7', ['api'], '', '/users/7'],
    ['/api', ['api'], '', '/'],
    ['/api/', ['api'], '', '/'],
    ['/%61pi/x', ['api'], '', '/x'],
    ['/apis/x', ['api'], '', '/apis/x'],
    ['/a/b/c%2Fd', ['a', 'b'], '', '/c%2Fd'],
    ['/a', ['a', 'b'], '', '/a'],
    ['/api', ['api'], '/v2', '/v2'],
    ['/api/', ['api'], '/v2', '/v2/'],
    ['/api/a', ['api'], '/v2', '/v2/a'],
    ['/a', [], '/v2', '/v2/a'],
    ['/', [], '/v2', '/v2/'],
  ]
  for (const [path, prefix, replacement, expected] of rows)
    t.equal(replacePrefix(path, prefix, replacement), expected, path)
})
