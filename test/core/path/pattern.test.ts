import t from 'tap'
import { parsePath } from '../../../core/path/pattern.ts'
import { parseTemplate } from '../../../core/path/template.ts'

t.test('a path without ^ and $ is parsed as a template', async (t) => {
  t.same(parsePath('/users/{id}'), parseTemplate('/users/{id}'))
})

t.test('a regular expression that is equivalent to a template becomes that template', async (t) => {
  const rows: [string, string][] = [
    ['^/$', '/'],
    ['^/users$', '/users'],
    ['^/users/$', '/users'],
    ['^/users/?$', '/users'],
    ['^/users/[^/]+$', '/users/*'],
    ['^/users/([^/]+)/books/?$', '/users/*/books'],
    ['^/users/(?P<id>[^/]+)$', '/users/{id}'],
    ['^/users/(?<id>[^/]+)/books/(?P<book>[^/]+)$', '/users/{id}/books/{book}'],
    ['^/files/.*$', '/files/**'],
    ['^/files/(.*)$', '/files/**'],
    ['^\\/users\\/[^\\/]+\\/$', '/users/*'],
    ['^/v1\\.0/a\\-b$', '/v1.0/a-b'],
  ]
  for (const [text, template] of rows) t.same(parsePath(text), parseTemplate(template), text)
})

t.test('other regular expressions are rejected', async (t) => {
  const patterns = [
    ...['^$', '^users$', '^/(a+)+$', '^/(a|a)*b$', '^/a.b$', '^/[a-z]+$', '^/\\d+$', '^/a/.+$'],
    ...['^/.*/b$', '^/a|/b$', '^/a[^/]+$', '^/[^/]+b$', '^/([^/]+)?$', '^/[^/]*$', '^/a?$', '^//$'],
    ...['^/(?:[^/]+)$', '^/(?<1>[^/]+)$', '^/a\\b$', '^/a\\\\/b$', '^/a{2}$', '^/^$', '^/a\\*$'],
  ]
  for (const text of patterns) t.throws(() => parsePath(text), { name: 'RangeError' }, text)
  t.throws(() => parsePath('^/(a+)+$'), { message: /write a template such as/ })
})

t.test('a path with only one of ^ and $ is rejected', async (t) => {
  for (const text of ['^/users', '/users$'])
    t.throws(() => parsePath(text), { message: /both \^ and \$/ }, text)
})
