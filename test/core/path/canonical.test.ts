import t from 'tap'
import { toCanonicalPath } from '../../../core/path/canonical.ts'

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
