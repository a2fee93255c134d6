import t from 'tap'
import { listSpellings, toCanonicalPath } from '../../../core/path/canonical.ts'

t.test('equivalent spellings of a path have one canonical form for rules', async (t) => {
  const rows: [string, string][] = [
    ['/app/admin', '/app/admin'],
    ['/app/%61dmin', '/app/admin'],
    ['/app/%41dmin', '/app/Admin'],
    ['//app///admin', '/app/admin'],
    ['/app;v=1/admin;x=/y', '/app/admin/y'],
    ['/app%3bv=1/admin', '/app/admin'],
    ['/caf%C3%A9', '/café'],
    ['/caf%E9/%61', '/caf%E9/a'],
    ['/app/%2561dmin', '/app/%61dmin'],
    ['/', '/'],
    ['*', '*'],
  ]
  for (const [path, canonical] of rows) t.equal(toCanonicalPath(path), canonical, path)
})

t.test('lists the paths of servers that decode once or twice', async (t) => {
  const rows: [string, string[]][] = [
    ['/a/b', []],
    ['/a//b', ['/a/b']],
    ['/%61', ['/a']],
    ['/a%252fb', ['/a%2fb', '/a/b']],
    ['/a/%252e%252e/b', ['/a/%2e%2e/b', '/b']],
    ['/%252e%252e/%252e/b', ['/%2e%2e/%2e/b', '/b']],
    ['/a%253bv=1', ['/a%3bv=1', '/a']],
    ['/50%25', ['/50%']],
  ]
  for (const [path, spellings] of rows) t.strictSame(listSpellings(path), spellings, path)
})
