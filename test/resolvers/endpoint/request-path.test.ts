import t from 'tap'
import { parseRequestPath } from '../../../resolvers/endpoint/request-path.ts'

t.test('decodes segments one by one', async (t) => {
  const rows: [string, string[], string][] = [
    ['/', [], ''],
    ['/users/42', ['users', '42'], ''],
    ['/caf%C3%A9/a%20b/50%25', ['café', 'a b', '50%'], ''],
    ['/a+b/c;d=1', ['a+b', 'c;d=1'], ''],
    ['/users/42:cancel', ['users', '42:cancel'], 'cancel'],
    ['/a:b/c', ['a:b', 'c'], ''],
    ['/a:b:c', ['a:b:c'], 'c'],
    ['/a%3Ago', ['a:go'], ''],
    ['/a:%67o', ['a:go'], ''],
  ]
  for (const [path, segments, verb] of rows)
    t.same(parseRequestPath(path), { segments, verb, malformed: false }, path)
})

t.test('marks invalid UTF-8 and ambiguous characters as malformed', async (t) => {
  const segments = [
    ...['%', '%z1', '%ff', '%c0%ae', '%c0%af', '%e2%82', '%ed%a0%80', 'a%2fb', 'a%2Fb', 'a%5cb'],
    ...['%00', '%0d%0a', '%1f', '%7f', '%252f', '%25%32%66', '%2541'],
  ]
  for (const segment of segments) {
    const path = parseRequestPath(`/users/${segment}/x`)
    t.equal(path?.malformed, true, segment)
    t.equal(path?.segments.length, 3)
  }
})

t.test('returns undefined for empty and dot segments', async (t) => {
  for (const path of ['//', '/a//b', '/a/../b', '/a/%2e%2e', '/a/..;/b', '*', ''])
    t.equal(parseRequestPath(path), undefined, path)
})
